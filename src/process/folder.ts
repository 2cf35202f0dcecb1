/**
 * The files of one launch folder: their names, and how a record is read and written. Records are whole or absent, never
 * half: they are written beside their place and renamed into it. Used by the shim, so it imports only node built-ins.
 */
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessIdentity } from '../platform/process.ts'

export type LaunchFile =
  | 'spec.json'
  | 'identity.json'
  | 'gate'
  | 'agent.json'
  | 'keepalive'
  | 'stop.json'
  | 'unfinished.json'
  | 'exit.json'
  | 'shim.log'

/** Tells a shim from every other that was or will be in its folder. */
export const shimName = ({ pid, startTime }: ProcessIdentity): string => `${pid}-${startTime}`

export const fileOf = (dir: string, name: LaunchFile): string => join(dir, name)

/** Undefined when the record is absent, null or not JSON: a reader treats all of them as "nothing is known". */
export const readRecord = <T>(dir: string, name: LaunchFile): T | undefined => {
  try {
    return (JSON.parse(readFileSync(fileOf(dir, name), 'utf8')) as T | null) ?? undefined
  } catch {
    return undefined // absent, or damaged by something else than us, which cannot be told apart usefully
  }
}

const writeBeside = (path: string, value: unknown): string => {
  const beside = `${path}.${process.pid}.tmp`
  const file = openSync(beside, 'w', 0o600)
  try {
    writeFileSync(file, `${JSON.stringify(value)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return beside
}

export const writeRecord = (dir: string, name: LaunchFile, value: unknown): void => {
  const path = fileOf(dir, name)
  renameSync(writeBeside(path, value), path)
}

/** Writes the record unless there is one already; false = somebody was first, and theirs stays. */
export const writeFirstRecord = (dir: string, name: LaunchFile, value: unknown): boolean => {
  const path = fileOf(dir, name)
  const beside = writeBeside(path, value)
  try {
    linkSync(beside, path) // unlike a rename, a link never replaces
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(beside, { force: true })
  }
}
