/** Locations of the state and caches of a repository. Separate from serve.ts, so that a client does not load the engine. */
import { randomBytes } from 'node:crypto'
import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isDamage, setAside } from '../platform/damaged-file.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { shellQuoted } from '../recovery/command/replacement.ts'
import { AppError, messageOf } from '../errors.ts'
import { makeFolder } from '../platform/make-folder.ts'
import { isFullDisk, writeRemedy } from '../platform/write-fault.ts'

type Environment = Record<string, string | undefined>

/** `$UNSTUCK_HOME`, else the XDG state folder. It contains all stores, logs, workspaces and snapshots. */
export const unstuckHome = (environment: Environment): string =>
  environment.UNSTUCK_HOME ?? join(environment.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'unstuck')

export const stateDirOf = (environment: Environment, repositoryId: string): string =>
  join(unstuckHome(environment), repositoryId)

export const cacheDirOf = (environment: Environment): string =>
  join(environment.XDG_CACHE_HOME ?? join(environment.HOME ?? '/', '.cache'), 'unstuck')

/** Writes to the state folder. Where the system refuses it, the error says in one sentence what to do. */
export const writingIn = <T>(stateDir: string, write: () => T): T => {
  try {
    return write()
  } catch (error) {
    const remedy = writeRemedy(error)
    if (remedy === undefined) throw error
    throw new AppError(
      isFullDisk(error) ? 'ENGINE_UNAVAILABLE' : 'PERMISSION',
      `nothing can be written to the state folder ${stateDir}: ${remedy} (${messageOf(error)})`,
      { cause: error },
    )
  }
}

/** Throws PERMISSION unless it belongs to this user and is inaccessible to others: it contains the token and files that the engine trusts. */
export const checkStateDir = (stateDir: string): void => {
  const { uid, mode } = statSync(stateDir)
  const user = process.getuid?.()
  if (user !== undefined && uid !== user)
    throw new AppError(
      'PERMISSION',
      `the state folder ${stateDir} belongs to another user (${uid}, not ${user}); run as that user, or take it over with: chown -R ${user} ${shellQuoted(stateDir)}`,
    )
  if ((mode & 0o077) !== 0)
    throw new AppError(
      'PERMISSION',
      `the state folder ${stateDir} is open to other users (mode ${(mode & 0o777).toString(8)}); check that nothing in it was changed, then close it with: chmod 700 ${shellQuoted(stateDir)}`,
    )
  // Of root, and of a file system that is mounted to be read, only the first writing shows it.
  if ((mode & 0o300) !== 0o300)
    throw new AppError(
      'PERMISSION',
      `nothing can be written to the state folder ${stateDir} (mode ${(mode & 0o777).toString(8)}); open it with: chmod 700 ${shellQuoted(stateDir)}`,
    )
}

/** Creates the state folder if it is missing. Throws PERMISSION as `checkStateDir` does. */
export const openStateDir = (stateDir: string): void => {
  writingIn(stateDir, () => makeFolder(stateDir, 0o700))
  checkStateDir(stateDir)
}

/** Replaces a file of the state folder in one step, so that a crash leaves the old or the new text. */
export const replaceStateFile = (stateDir: string, name: string, text: string): void => {
  const path = join(stateDir, name)
  writingIn(stateDir, () => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  })
}

/** 32 bytes as base64url. A shorter one, such as an empty file, would be a secret that everybody knows. */
const secretForm = /^[\w-]{43}$/

const keptSecret = (path: string): string | undefined => {
  try {
    const text = readRegularTextSync(path).trim()
    return secretForm.test(text) ? text : undefined
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** A secret of the state folder, readable only by the owner and created when it is first needed. */
export const readSecret = (stateDir: string, name: string): string => {
  const path = join(stateDir, name)
  const kept = existsSync(path) ? keptSecret(path) : undefined
  if (kept !== undefined) return kept
  if (existsSync(path)) writingIn(stateDir, () => setAside(stateDir, path))
  const made = randomBytes(32).toString('base64url')
  replaceStateFile(stateDir, name, made)
  return made
}
