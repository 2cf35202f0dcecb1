/**
 * The files of a launch folder: their names, and how records are read and written. A record is complete or absent, because it
 * is written to a temporary file and renamed. The shim imports this module, so it imports node built-ins only.
 */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRegularTextSync } from '../platform/regular-file.ts'
import type { ProcessIdentity } from '../platform/process.ts'

export type LaunchFile =
  | 'spec.json'
  | 'identity.json'
  | 'gate'
  | 'agent.json'
  | 'keepalive'
  | 'stop.json'
  | 'unfinished.json'
  | 'started.json'
  | 'exit.json'
  | 'shim.log'

/** Unique among all shims that ever use the same folder. */
export const shimName = ({ pid, startTime }: ProcessIdentity): string => `${pid}-${startTime}`

export const launchFilePath = (dir: string, name: LaunchFile): string => join(dir, name)

/** Undefined when the record is absent, null or not JSON; readers treat all three as "unknown". */
export const readRecord = <T>(dir: string, name: LaunchFile): T | undefined => {
  try {
    return (JSON.parse(readRegularTextSync(launchFilePath(dir, name))) as T | null) ?? undefined
  } catch {
    return undefined // absent or damaged: neither says anything about the launch
  }
}

const writeTemporary = (path: string, value: unknown): string => {
  const temporary = `${path}.${process.pid}.tmp`
  const file = openSync(temporary, 'w', 0o600)
  try {
    writeFileSync(file, `${JSON.stringify(value)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return temporary
}

export const writeRecord = (dir: string, name: LaunchFile, value: unknown): void => {
  const path = launchFilePath(dir, name)
  renameSync(writeTemporary(path, value), path)
}

/** Writes the record unless it exists; false = another process wrote it first, and its record stays. */
export const writeFirstRecord = (dir: string, name: LaunchFile, value: unknown): boolean => {
  const path = launchFilePath(dir, name)
  const temporary = writeTemporary(path, value)
  try {
    linkSync(temporary, path) // unlike a rename, a link never replaces a file
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
