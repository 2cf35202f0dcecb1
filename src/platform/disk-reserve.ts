/**
 * A reserve file on the disk that holds the state folders. When the disk is full, it is deleted so that the store, its journal and the
 * records of runs can still be written until someone frees more space. Without it every command fails, including `unstuck clean`.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, renameSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const megabyte = 1024 * 1024
/** Two segments of PostgreSQL's journal. */
const reserveMb = 32
/** With less than this nothing reliable can be written. */
const fullMb = 8
/** A disk with less room than so many reserves keeps it for work. */
const leastShare = 8

const reserveIn = (home: string): string => join(home, 'reserve')

const freeMbAt = (folder: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return (bavail * bsize) / megabyte
  } catch {
    return undefined // the folder does not exist yet, or its file system reports nothing
  }
}

export const isDiskFull = (home: string): boolean => (freeMbAt(home) ?? fullMb) < fullMb

/** The reserve is gone, and there is no more room than it gave. */
export const livesOnReserve = (home: string): boolean =>
  !hasReserve(home) && (freeMbAt(home) ?? Number.POSITIVE_INFINITY) < reserveMb + fullMb

const hasReserve = (home: string): boolean => statSync(reserveIn(home), { throwIfNoEntry: false }) !== undefined

/** True = the disk is full and the reserve was given up, so that there is room again. */
export const giveUpReserve = (home: string): boolean => {
  if (!isDiskFull(home) || !hasReserve(home)) return false
  rmSync(reserveIn(home), { force: true })
  return true
}

/** Written out where the file system cannot set room aside; random, so that none compresses it. */
const writeOut = (path: string): void => {
  const file = openSync(path, 'w', 0o600)
  try {
    for (let at = 0; at < reserveMb; at += 1) writeSync(file, randomBytes(megabyte))
  } finally {
    closeSync(file)
  }
}

const setAsideRoom = (path: string): void => {
  try {
    execFileSync('fallocate', ['-l', `${reserveMb}MiB`, path], { stdio: 'ignore', timeout: 10_000 })
  } catch {
    writeOut(path) // no such program, or no such operation
  }
}

/** Makes the reserve where it is missing and there is plenty of room. */
export const keepReserve = (home: string): void => {
  if (hasReserve(home) || (freeMbAt(home) ?? 0) < leastShare * reserveMb) return
  const draft = `${reserveIn(home)}.${process.pid}.new`
  try {
    setAsideRoom(draft)
    renameSync(draft, reserveIn(home))
  } finally {
    rmSync(draft, { force: true })
  }
}
