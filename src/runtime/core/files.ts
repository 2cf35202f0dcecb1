/** The port for the few files that the runtime reads and writes itself: see ports.ts. */
import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { isDamage, setAside } from '../../platform/damaged-file.ts'
import { messageOf } from '../../errors.ts'
import { refuseMounts } from '../../platform/mounts.ts'
import { readRegularSync, readRegularTextSync } from '../../platform/regular-file.ts'

/** Functions of `node:fs`, with the parameters that the runtime uses. */
export interface Files {
  accessSync(path: string, mode: number): void
  appendFileSync(path: string, text: string): void
  chmodSync(path: string, mode: number): void
  existsSync(path: string): boolean
  /** Also of a link that leads nowhere. */
  isLink(path: string): boolean
  mkdirSync(path: string, options: { recursive: true; mode?: number }): unknown
  /** Throws for what is no regular file. An agent or a check can leave a pipe anywhere, and reading one would block the engine. */
  readFileSync(path: string, encoding: 'utf8'): string
  /** The bytes of a file that an agent may have made: 'none', or why it is not read. Never follows a link and never waits for a pipe. */
  readOwnBytes(path: string, most: number): Uint8Array | { refused: string } | 'none'
  readdirSync(path: string): string[]
  realpathSync(path: string): string
  /** Replaces `to` in one step. */
  renameSync(from: string, to: string): void
  /** Throws if `recursive` would empty what is mounted below. */
  rmSync(path: string, options: { recursive?: boolean; force?: boolean }): void
  statSync(path: string): {
    mode: number
    uid: number
    mtimeMs: number
    size: number
    isDirectory(): boolean
    isFile(): boolean
  }
  /** The effective user id of this process; undefined = the system has none. */
  userId(): number | undefined
  /** The home folder of this process's user. */
  homeDir(): string
  /** `wx`: only a new file, and no link is followed. */
  writeFileSync(path: string, text: string, options?: { mode: number; flag?: 'wx' }): void
}

const readOwnBytes: Files['readOwnBytes'] = (path, most) => {
  try {
    return readRegularSync(path, { most, noLink: true })
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'none'
    const known = ['ELOOP', 'ENOTREGULAR', 'EFBIG'].includes(code)
    return { refused: known ? messageOf(error) : `it cannot be opened (${code})` }
  }
}

export const realFiles: Files = {
  ...fs,
  isLink: (path) => fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false,
  readFileSync: (path) => readRegularTextSync(path),
  readOwnBytes,
  // The shim of an earlier engine may still write a last file into the folder; then the removal is retried.
  rmSync: (path, options) => {
    if (options.recursive === true) refuseMounts(path)
    fs.rmSync(path, { ...options, maxRetries: 5 })
  },
  userId: () => process.geteuid?.(),
  homeDir: homedir,
}

/** The text of a regular file; undefined = it does not exist or cannot be read. */
export const readIfFile = (files: Files, path: string): string | undefined => {
  try {
    return files.readFileSync(path, 'utf8')
  } catch {
    return undefined // missing or unreadable: the caller decides what that means
  }
}

/** Not for a link to a folder: git works in none. */
export const isRealFolder = (files: Pick<Files, 'existsSync' | 'isLink' | 'statSync'>, path: string): boolean =>
  !files.isLink(path) && files.existsSync(path) && files.statSync(path).isDirectory()

/** In one step, so that an engine that is killed leaves the old text or the new one. */
export const writeStateFile = (files: Files, path: string, text: string): void => {
  files.writeFileSync(`${path}.new`, text, { mode: 0o600 })
  files.renameSync(`${path}.new`, path)
}

/**
 * The content of a small JSON file that Unstuck wrote to its state folder; undefined = it is missing, or was damaged and is moved aside.
 * `shape` throws for what it does not accept; absent = any JSON.
 */
export const readStateFile = <T = unknown>(
  { ports: { files }, stateDir }: { ports: { files: Files }; stateDir: string },
  path: string,
  shape: { parse(value: unknown): T } = { parse: (value) => value as T },
): T | undefined => {
  try {
    return shape.parse(JSON.parse(files.readFileSync(path, 'utf8')))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined
    if (!isDamage(error)) throw error
    setAside(stateDir, path, files)
    return undefined
  }
}
