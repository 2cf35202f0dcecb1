/** Reads a file that the owner writes: configuration, and the rules for changed paths. */
import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError, messageOf } from '../errors.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'

const mostBytes = 1024 * 1024

/** Undefined = there is no such file. Throws `CONFIG_INVALID` for one that cannot be read, or that is a pipe, a folder or a device. */
export const readOwnerFile = (path: string): string | undefined => {
  try {
    return readRegularTextSync(path, { most: mostBytes })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const problem =
      code === 'EFBIG'
        ? `: ${messageOf(error)}`
        : code === 'ENOTREGULAR'
          ? `: ${messageOf(error)}; put a file of text there, or remove it`
          : ` cannot be read (${messageOf(error)}). Make it readable, or remove it.`
    throw new AppError('CONFIG_INVALID', `${path}${problem}`, { cause: error })
  }
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/** Whether another file is read under this name. Only the file and its folder are looked at: what is above is the owner's machine. */
const isLinked = (path: string): boolean => {
  try {
    return isLink(path) || isLink(dirname(path))
  } catch {
    return true // it cannot be told, for example because a file is in the place of the folder
  }
}

/**
 * Runs the check of an owner's file. A repository may bring a link in the place of its configuration, to a file that is none: the message
 * about it would print what that file holds, into terminals and logs of CI.
 */
export const quotingNoLink = <T>(path: string, check: () => T): T => {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof AppError) || !isLinked(path)) throw error
    throw new AppError(
      error.code,
      `${path} is a link, and the file that it leads to is not valid. Nothing of that file is shown; put the file itself in the place of the link to see the mistake.`,
    )
  }
}
