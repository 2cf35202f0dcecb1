/** The port for the few files that the runtime reads and writes itself: see ports.ts. */
import * as fs from 'node:fs'
import { homedir } from 'node:os'

/** Functions of `node:fs`, with the parameters that the runtime uses. */
export interface Files {
  accessSync(path: string, mode: number): void
  appendFileSync(path: string, text: string): void
  chmodSync(path: string, mode: number): void
  existsSync(path: string): boolean
  mkdirSync(path: string, options: { recursive: true; mode?: number }): unknown
  readFileSync(path: string, encoding: 'utf8'): string
  /** The bytes of a file, for a digest. */
  readBytesSync(path: string): Uint8Array
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
  writeFileSync(path: string, text: string, options?: { mode: number }): void
}

export const realFiles: Files = {
  ...fs,
  readBytesSync: (path) => fs.readFileSync(path),
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
