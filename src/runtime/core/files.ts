/** The few files that the runtime reads and writes itself, as a door of their own: see ports.ts. */
import * as fs from 'node:fs'
import { homedir } from 'node:os'

/** As in `node:fs`, with the parameters that the runtime uses. */
export interface Files {
  accessSync(path: string, mode: number): void
  chmodSync(path: string, mode: number): void
  existsSync(path: string): boolean
  mkdirSync(path: string, options: { recursive: true; mode?: number }): unknown
  readFileSync(path: string, encoding: 'utf8'): string
  readdirSync(path: string): string[]
  realpathSync(path: string): string
  rmSync(path: string, options: { recursive?: boolean; force?: boolean }): void
  statSync(path: string): {
    mode: number
    uid: number
    mtimeMs: number
    size: number
    isDirectory(): boolean
    isFile(): boolean
  }
  /** Who this process is to the file system; undefined = the system has no such thing. */
  userId(): number | undefined
  /** The home folder of this process's user. */
  homeDir(): string
  writeFileSync(path: string, text: string, options?: { mode: number }): void
}

export const realFiles: Files = {
  ...fs,
  // A shim of an earlier engine may still write a last file into a folder that is removed.
  rmSync: (path, options) => fs.rmSync(path, { ...options, maxRetries: 5 }),
  userId: () => process.geteuid?.(),
  homeDir: homedir,
}

/** Undefined where there is no plain file, or it cannot be read. */
export const readOr = (files: Files, path: string): string | undefined => {
  try {
    // Reading a pipe, which an agent or a check can leave anywhere, would stop the engine until somebody wrote into it.
    return files.statSync(path).isFile() ? files.readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined // not there, or not to be read: it tells nothing
  }
}
