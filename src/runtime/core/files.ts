/** The port for the few files that the runtime reads and writes itself: see ports.ts. */
import * as fs from 'node:fs'
import { homedir } from 'node:os'

/** Functions of `node:fs`, with the parameters that the runtime uses. */
export interface Files {
  accessSync(path: string, mode: number): void
  appendFileSync(path: string, text: string): void
  chmodSync(path: string, mode: number): void
  existsSync(path: string): boolean
  /** Also of a link that leads nowhere. */
  isLink(path: string): boolean
  mkdirSync(path: string, options: { recursive: true; mode?: number }): unknown
  readFileSync(path: string, encoding: 'utf8'): string
  /** The bytes of a file that an agent may have made: 'none', or why it is not read. Never follows a link and never waits for a pipe. */
  readOwnBytes(path: string, most: number): Uint8Array | { refused: string } | 'none'
  readdirSync(path: string): string[]
  realpathSync(path: string): string
  /** Replaces `to` in one step. */
  renameSync(from: string, to: string): void
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

const openQuietly = (path: string): number | { refused: string } | 'none' => {
  try {
    return fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'none'
    return { refused: code === 'ELOOP' ? 'it is a symbolic link' : `it cannot be opened (${code ?? 'unknown'})` }
  }
}

const readOwnBytes: Files['readOwnBytes'] = (path, most) => {
  const opened = openQuietly(path)
  if (typeof opened !== 'number') return opened
  try {
    const found = fs.fstatSync(opened)
    if (!found.isFile()) return { refused: 'it is not a regular file' }
    if (found.size > most) return { refused: `it is larger than ${most / 1024} KiB` }
    const bytes = Buffer.alloc(found.size)
    return bytes.subarray(0, fs.readSync(opened, bytes, 0, found.size, 0))
  } finally {
    fs.closeSync(opened)
  }
}

export const realFiles: Files = {
  ...fs,
  isLink: (path) => fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false,
  readOwnBytes,
  // The shim of an earlier engine may still write a last file into the folder; then the removal is retried.
  rmSync: (path, options) => fs.rmSync(path, { ...options, maxRetries: 5 }),
  userId: () => process.geteuid?.(),
  homeDir: homedir,
}

/** The text of a regular file; undefined = it does not exist or cannot be read. */
export const readIfFile = (files: Files, path: string): string | undefined => {
  try {
    // An agent or a check can leave a pipe anywhere. Reading it would block the engine until a process writes to it.
    return files.statSync(path).isFile() ? files.readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined // missing or unreadable: the caller decides what that means
  }
}
