/**
 * Small files of the state folder whose content is not what we wrote: a power failure, a full disk or another program. Each is moved aside, so
 * that a person can look at it, and its reader goes on as if it were missing; the engine reports it (api/watch-state-files.ts).
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

export const damagedFolder = (stateDir: string): string => join(stateDir, 'damaged')

/** Ends the name of a file that no event has reported yet. */
export const unreportedSuffix = '.new'

/** More of one name would fill the disk where a program damages a file again and again. */
const mostKept = 20

interface Moving {
  existsSync(path: string): boolean
  mkdirSync(path: string, options: { recursive: true; mode: number }): unknown
  renameSync(from: string, to: string): void
  rmSync(path: string, options: { force: true }): void
}

/** Another reader may have moved it at the same time. */
const moveIfThere = (files: Moving, path: string, to: string): void => {
  try {
    files.renameSync(path, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/**
 * Moves a file, or what stands in its place, to the folder of damaged files under the next free number. Where there is none, a file is removed;
 * for a folder, which may hold anything, this throws.
 */
export const setAside = (
  stateDir: string,
  path: string,
  files: Moving = { existsSync, mkdirSync, renameSync, rmSync },
): void => {
  const folder = damagedFolder(stateDir)
  files.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const name = relative(stateDir, path).replaceAll('/', '__')
  const isFree = (to: string): boolean => !files.existsSync(to) && !files.existsSync(`${to}${unreportedSuffix}`)
  for (let number = 1; number <= mostKept; number += 1) {
    const to = join(folder, `${name}.${number}`)
    if (isFree(to)) return moveIfThere(files, path, `${to}${unreportedSuffix}`)
  }
  files.rmSync(path, { force: true })
}

/** Of a file in a folder of ours: something else stands in its place, or its disk or its mode does not let us read it. */
const unreadable = new Set(['ENOTREGULAR', 'EFBIG', 'EISDIR', 'ELOOP', 'EACCES', 'EPERM', 'EIO'])

/** Whether an error of a reader says that the file is damaged. Others, as too many open files, say nothing about its content. */
export const isDamage = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  (error instanceof Error && error.name === 'ZodError') ||
  unreadable.has(String((error as NodeJS.ErrnoException).code))
