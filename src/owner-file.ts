/** Reads a file that the owner writes: configuration, and the rules for changed paths. */
import { readFileSync } from 'node:fs'
import { AppError, messageOf } from './errors.ts'

/** Undefined = there is no such file. Throws `CONFIG_INVALID` for a file that exists and cannot be read. */
export const readOwnerFile = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new AppError(
      'CONFIG_INVALID',
      `${path} cannot be read (${messageOf(error)}). Make it readable, or remove it.`,
      { cause: error },
    )
  }
}
