/** Locations of the state and caches of a repository. Separate from serve.ts, so that a client does not load the engine. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { makeFolder } from '../platform/make-folder.ts'

type Environment = Record<string, string | undefined>

/** `$UNSTUCK_HOME`, else the XDG state folder. It contains all stores, logs, workspaces and snapshots. */
const unstuckHome = (environment: Environment): string =>
  environment.UNSTUCK_HOME ?? join(environment.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'unstuck')

export const stateDirOf = (environment: Environment, repositoryId: string): string =>
  join(unstuckHome(environment), repositoryId)

export const cacheDirOf = (environment: Environment): string =>
  join(environment.XDG_CACHE_HOME ?? join(environment.HOME ?? '/', '.cache'), 'unstuck')

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)

/**
 * Creates the state folder if it is missing. It contains the token and files that the engine trusts, so it must belong to this
 * user and be inaccessible to others; otherwise this throws PERMISSION.
 */
export const openStateDir = (stateDir: string): void => {
  makeFolder(stateDir, 0o700)
  const { uid, mode } = statSync(stateDir)
  const user = process.getuid?.()
  if (user !== undefined && uid !== user)
    throw new AppError(
      'PERMISSION',
      `the state folder ${stateDir} belongs to another user (${uid}, not ${user}); run as that user, or take it over with: chown -R ${user} ${quoted(stateDir)}`,
    )
  if ((mode & 0o077) !== 0)
    throw new AppError(
      'PERMISSION',
      `the state folder ${stateDir} is open to other users (mode ${(mode & 0o777).toString(8)}); check that nothing in it was changed, then close it with: chmod 700 ${quoted(stateDir)}`,
    )
}

/** A secret of the state folder, readable only by the owner and created when it is first needed. */
export const readSecret = (stateDir: string, name: string): string => {
  const path = join(stateDir, name)
  if (!existsSync(path)) {
    // Written by a rename: after a crash an empty file would be a secret that everybody knows.
    writeFileSync(`${path}.new`, randomBytes(32).toString('base64url'), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return readFileSync(path, 'utf8').trim()
}
