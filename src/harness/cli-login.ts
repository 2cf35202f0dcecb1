/**
 * Finds out whether a CLI has credentials, from environment variables and the CLI's files. The files are never written, and at most a
 * digest of their contents is kept. The CLI itself is not asked, because running it would write to its folders. Existing
 * credentials may still be invalid.
 */
import { createHash } from 'node:crypto'
import type { DriverName } from './names.ts'

type Environment = Record<string, string | undefined>

export interface Login {
  state: 'yes' | 'no' | 'unknown'
  /** The variable or file that shows it. */
  by?: string
}

/** Where a CLI keeps its login, and how a person logs in. */
export interface LoginTraces {
  variables: string[]
  /** Files whose existence means a login. */
  files: (home: string, environment: Environment) => string[]
  /** Files that may contain a login or replace it. */
  maybe: (home: string, environment: Environment) => string[]
  /** State without any of these: `unknown` if the CLI works without an account, or keeps credentials elsewhere. */
  otherwise: 'no' | 'unknown'
  /** How a person gives this CLI its credentials. */
  advice: string
}

/** A driver, as far as its login goes; without `login` nothing is known about it. */
interface LoggedIn {
  name: DriverName
  login?: LoginTraces
}

/** The folder in that variable, else the default folder. */
export const folderIn = (environment: Environment, name: string, fallback: string): string =>
  environment[name] || fallback

/** Login state of a CLI. Of files only their existence is checked. */
export const loginOf = (driver: LoggedIn, environment: Environment, exists: (path: string) => boolean): Login => {
  const known = driver.login
  if (known === undefined) return { state: 'unknown' }
  const variable = known.variables.find((name) => (environment[name] ?? '') !== '')
  if (variable !== undefined) return { state: 'yes', by: variable }
  const home = environment['HOME'] ?? ''
  if (home === '') return { state: 'unknown' }
  const file = known.files(home, environment).find(exists)
  if (file !== undefined) return { state: 'yes', by: file }
  const perhaps = known.maybe(home, environment).find(exists)
  return perhaps === undefined ? { state: known.otherwise } : { state: 'unknown', by: perhaps }
}

export interface LoginFiles {
  existsSync(path: string): boolean
  readFileSync(path: string, encoding: 'utf8'): string
}

interface LoginSource {
  environment: Environment
  files: LoginFiles
}

/** The login's file. Files in `maybe` do not count, because CLIs write their settings whenever they run. */
const fileOf = (driver: LoggedIn, { environment, files }: LoginSource): string | undefined => {
  const { state, by } = loginOf(driver, environment, (path) => files.existsSync(path))
  return state === 'yes' && by?.startsWith('/') === true ? by : undefined
}

/** Changes when the login file changes; null = there is no login file. It reveals nothing of the contents. */
export const loginStamp = (driver: LoggedIn, source: LoginSource): string | null => {
  const path = fileOf(driver, source)
  if (path === undefined) return null
  try {
    const digest = createHash('sha256').update(source.files.readFileSync(path, 'utf8')).digest('hex')
    return `${path} ${digest.slice(0, 16)}`
  } catch {
    return null // removed meanwhile, perhaps by a CLI whose login was refused
  }
}

/**
 * The login file, if the login was renewed since the stamp `before`; undefined = not renewed, or no stamp is known. Contents are
 * compared, not times: a file that was only touched still has the refused login. A login contains a refresh token that works
 * once. When two CLIs renew the same login, one is refused, and after a restart it finds the other's login in the file. (Separate
 * folders per run would not help, because each copy would have the same token.)
 */
export const renewedLogin = (
  driver: LoggedIn,
  { before, ...source }: LoginSource & { before: string | null | undefined },
): string | undefined => {
  const now = loginStamp(driver, source)
  return before === undefined || now === null || now === before ? undefined : fileOf(driver, source)
}

/** Why a CLI cannot log in, for people; undefined when it might. `environment` is the one that the CLI will get. */
export const missingLogin = (
  driver: LoggedIn,
  environment: Environment,
  exists: (path: string) => boolean,
): string | undefined => {
  const known = driver.login
  const home = environment['HOME'] ?? ''
  if (known === undefined || loginOf(driver, environment, exists).state !== 'no') return undefined
  const files = known.files(home, environment).join(', ')
  return `${driver.name} has no credentials: neither ${known.variables.join(', ')} is set, nor is there ${files}`
}
