/**
 * Whether this user can use a folder, and the only repair: adding the owner's missing mode bits. The bits are checked besides the
 * system's answer, because root may access everything regardless of them, and its agents may run as another user.
 */
import { constants } from 'node:fs'
import { messageOf } from '../../errors.ts'
import { missingBits } from '../../recovery/diagnosis/directory.ts'
import type { ObservedDirectory } from '../../recovery/evidence.ts'
import type { ModeChange } from '../../recovery/types.ts'
import { whyTooWide } from '../../config/wide-folder.ts'
import type { Files } from './files.ts'
import { defined } from '../../domain/defined.ts'

type Inspection = Pick<Files, 'accessSync' | 'homeDir' | 'realpathSync' | 'statSync' | 'userId'>

/** Why the mode of a folder must not be changed, regardless of its owner; undefined = it may be. */
const sparedFor = (files: Inspection, path: string): string | undefined =>
  whyTooWide(files, path) ?? (path.split('/').includes('.git') ? 'belongs to git' : undefined)

const mayUse = (files: Inspection, path: string): boolean => {
  try {
    files.accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false // the caller repairs it or says so
  }
}

const statOf = (files: Inspection, path: string): ReturnType<Files['statSync']> | NodeJS.ErrnoException => {
  try {
    return files.statSync(path)
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** Why a folder cannot be used; undefined = it can be read, written and entered. */
export const inspectDirectory = (files: Inspection, path: string): ObservedDirectory | undefined => {
  const found = statOf(files, path)
  if (found instanceof Error)
    return { path, problem: found.code === 'ENOENT' || found.code === 'ENOTDIR' ? 'missing' : 'no access' }
  if (!found.isDirectory()) return { path, problem: 'not a directory' }
  const mode = found.mode & 0o7777
  const isOurs = found.uid === files.userId()
  const lacks = isOurs && missingBits(mode) !== 0
  if (!lacks && mayUse(files, path)) return undefined
  const spared = sparedFor(files, path)
  return { path, problem: 'no access', mode, isOurs, ...defined({ spared }) }
}

/**
 * Changes the mode and checks the result. If the folder was replaced since the decision (a link, another mode), nothing is changed:
 * an agent could otherwise redirect the change to another folder.
 */
export const changeMode = (
  files: Inspection & Pick<Files, 'chmodSync'>,
  { directory, oldMode, newMode }: ModeChange,
): { satisfied: boolean; detail: string } => {
  const before = inspectDirectory(files, directory)
  const changed = `mode ${oldMode} became ${newMode}`
  // Already done, before a crash or by another program.
  if (before === undefined) return { satisfied: true, detail: `${changed}; it can be read, written and entered` }
  try {
    if (files.realpathSync(directory) !== directory) return { satisfied: false, detail: `${directory} is a link now` }
    if (before.spared !== undefined) return { satisfied: false, detail: `${directory} ${before.spared}` }
    if (before.isOurs !== true) return { satisfied: false, detail: `${directory} belongs to another user` }
    if (before.mode !== parseInt(oldMode, 8))
      return { satisfied: false, detail: `its mode is no longer ${oldMode}, so it was left as it is` }
    files.chmodSync(directory, parseInt(newMode, 8))
  } catch (error) {
    return { satisfied: false, detail: messageOf(error) }
  }
  return inspectDirectory(files, directory) === undefined
    ? { satisfied: true, detail: `${changed}; it can be read, written and entered` }
    : { satisfied: false, detail: `${changed}, but it is still not readable and writable for this user` }
}
