/**
 * Whether a CLI has credentials, from names in the environment and files that it keeps: looked at, never opened for
 * writing, and of their contents a digest at most is kept. Running the CLI to ask would write to its folders. That credentials are there
 * does not say that they still hold.
 */
import { createHash } from 'node:crypto'
import type { DriverName } from './names.ts'

type Environment = Record<string, string | undefined>

export interface Login {
  state: 'yes' | 'no' | 'unknown'
  /** The variable or file that tells it. */
  by?: string
}

/** Where a CLI keeps its login, and how a person logs in. */
export interface LoginTraces {
  variables: string[]
  /** Its presence is a login. */
  files: (home: string, environment: Environment) => string[]
  /** May hold or replace a login. */
  maybe: (home: string, environment: Environment) => string[]
  /** Without any trace: works without an account, or keeps credentials where we do not look. */
  otherwise: 'no' | 'unknown'
  /** How a person gives this CLI its credentials. */
  advice: string
}

/** A driver, as far as its login goes; without `login` nothing is known about it. */
interface LoggedIn {
  name: DriverName
  login?: LoginTraces
}

/** The folder in that variable, else the standard one. */
export const folderIn = (environment: Environment, name: string, standard: string): string =>
  environment[name] || standard

/** `exists` is the only look at a file. */
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

interface Place {
  environment: Environment
  files: LoginFiles
}

/** A file that may replace a login is none: CLIs write their settings whenever they run. */
const fileOf = (driver: LoggedIn, { environment, files }: Place): string | undefined => {
  const { state, by } = loginOf(driver, environment, (path) => files.existsSync(path))
  return state === 'yes' && by?.startsWith('/') === true ? by : undefined
}

/** Another one once the file of the login holds another login; null = there is none. It tells nothing of what it holds. */
export const loginStamp = (driver: LoggedIn, place: Place): string | null => {
  const path = fileOf(driver, place)
  if (path === undefined) return null
  try {
    const digest = createHash('sha256').update(place.files.readFileSync(path, 'utf8')).digest('hex')
    return `${path} ${digest.slice(0, 16)}`
  } catch {
    return null // gone since: a CLI whose login was refused may have removed it
  }
}

/**
 * The file of a login that was renewed since this stamp was taken; undefined = none was, or no stamp is known. Times are not
 * looked at: a file that is touched, or written again as it was, holds the login that was refused. Such logins hold a refresh token that works once: of two CLIs that
 * renew one login at the same time, one is refused and finds the other's login in the file when it starts again. (A folder of
 * its own for each run would make that certain: each copy holds the same token.)
 */
export const renewedLogin = (
  driver: LoggedIn,
  { before, ...place }: Place & { before: string | null | undefined },
): string | undefined => {
  const now = loginStamp(driver, place)
  return before === undefined || now === null || now === before ? undefined : fileOf(driver, place)
}

/** Why a CLI will not be able to log in, for people; undefined where it may. The environment is the one that it would get. */
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
