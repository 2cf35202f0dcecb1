/**
 * Whether a folder can be used by this user, and the one repair there is: the owner's missing bits. Bits count beside the
 * system's own answer, because root may do everything whatever they say, and its agents may run as somebody else.
 */
import { constants } from 'node:fs'
import { messageOf } from '../../errors.ts'
import { missingBits } from '../../recovery/diagnosis/directory.ts'
import type { ObservedDirectory } from '../../recovery/evidence.ts'
import type { ModeChange } from '../../recovery/types.ts'
import { wideFolder } from '../../wide-folder.ts'
import type { Files } from './files.ts'

type Looks = Pick<Files, 'accessSync' | 'homeDir' | 'realpathSync' | 'statSync' | 'userId'>

/** Why a mode is not ours to change, whoever owns the folder. */
const sparedFor = (files: Looks, path: string): string | undefined =>
  wideFolder(files, path) ?? (path.split('/').includes('.git') ? 'belongs to git' : undefined)

const mayUse = (files: Looks, path: string): boolean => {
  try {
    files.accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false // the caller repairs it or says so
  }
}

const statOf = (files: Looks, path: string): ReturnType<Files['statSync']> | NodeJS.ErrnoException => {
  try {
    return files.statSync(path)
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** What is in the way of a folder; undefined = it can be read, written and entered. */
export const lookAtDirectory = (files: Looks, path: string): ObservedDirectory | undefined => {
  const found = statOf(files, path)
  if (found instanceof Error)
    return { path, problem: found.code === 'ENOENT' || found.code === 'ENOTDIR' ? 'missing' : 'no access' }
  if (!found.isDirectory()) return { path, problem: 'not a directory' }
  const mode = found.mode & 0o7777
  const isOurs = found.uid === files.userId()
  const lacks = isOurs && missingBits(mode) !== 0
  if (!lacks && mayUse(files, path)) return undefined
  const spared = sparedFor(files, path)
  return { path, problem: 'no access', mode, isOurs, ...(spared === undefined ? {} : { spared }) }
}

/**
 * Carries out a change of mode that was decided, and looks what it did. The folder may be another by now (a link in its
 * place, a mode that somebody set): then nothing is touched.
 */
export const changeMode = (
  files: Looks & Pick<Files, 'chmodSync'>,
  { directory, oldMode, newMode }: ModeChange,
): { holds: boolean; detail: string } => {
  const before = lookAtDirectory(files, directory)
  const told = `mode ${oldMode} became ${newMode}`
  // Done before a crash, or by somebody else.
  if (before === undefined) return { holds: true, detail: `${told}; it can be read, written and entered` }
  try {
    if (files.realpathSync(directory) !== directory) return { holds: false, detail: `${directory} is a link now` }
    if (before.spared !== undefined) return { holds: false, detail: `${directory} ${before.spared}` }
    if (before.isOurs !== true) return { holds: false, detail: `${directory} belongs to another user` }
    if (before.mode !== parseInt(oldMode, 8))
      return { holds: false, detail: `its mode is no longer ${oldMode}, so it was left as it is` }
    files.chmodSync(directory, parseInt(newMode, 8))
  } catch (error) {
    return { holds: false, detail: messageOf(error) }
  }
  return lookAtDirectory(files, directory) === undefined
    ? { holds: true, detail: `${told}; it can be read, written and entered` }
    : { holds: false, detail: `${told}, but it is still not readable and writable for this user` }
}
