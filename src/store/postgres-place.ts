/**
 * Where a PostgreSQL store is and what its errors mean. The URL holds a password: it never leaves this module in a message,
 * and a place is named by host and database alone.
 */
import { AppError, messageOf } from '../errors.ts'

/** One repository's part of a database. */
export interface DatabasePlace {
  url: string
  schema: string
}

const identifierLimit = 63

/** A schema per repository: the readable start of its id and the hash at the end that tells it from all others. */
export const schemaOf = (repositoryId: string): string => {
  const plain = `unstuck_${repositoryId.toLowerCase().replace(/[^a-z0-9]+/g, '_')}`
  return plain.length <= identifierLimit ? plain : `${plain.slice(0, identifierLimit - 13)}_${plain.slice(-12)}`
}

/** Refuses what is no PostgreSQL URL without quoting it. */
export const databasePlace = (url: string, repositoryId: string): DatabasePlace => {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new AppError(
      'CONFIG_INVALID',
      'the database URL (--database-url or UNSTUCK_DATABASE_URL) is not of the form postgresql://user:password@host:5432/database; correct it (percent-encode special characters of the password)',
    )
  }
  return { url, schema: schemaOf(repositoryId) }
}

/** The choice of the store: a URL in the environment, else the embedded one. */
export const databaseOf = (
  environment: Record<string, string | undefined>,
  repositoryId: string,
): DatabasePlace | undefined => {
  const url = environment.UNSTUCK_DATABASE_URL ?? ''
  return url === '' ? undefined : databasePlace(url, repositoryId)
}

/** For people and logs: no user, no password. */
export const nameOf = ({ url, schema }: DatabasePlace): string => {
  const { hostname, port, pathname } = new URL(url)
  return `${hostname || 'localhost'}:${port || '5432'}${pathname}, schema ${schema}`
}

export const storeName = (place: DatabasePlace | undefined): string =>
  place === undefined ? 'embedded' : nameOf(place)

/** The schema goes in with the connection itself, so that no statement can run before it is set. */
export const connectionUrl = ({ url, schema }: DatabasePlace, more = ''): string => {
  const full = new URL(url)
  const own = `-c search_path=${schema} ${more}`.trim()
  const given = full.searchParams.get('options')
  full.searchParams.set('options', given === null ? own : `${given} ${own}`)
  return full.href
}

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** Connection exceptions, shutdown and start-up of the server, sessions ended by a timeout, too many connections. */
const lostStates = /^(08...|57P0[1-5]|25P0[34]|53300)$/
const lostCalls = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/
const lostWords =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Query read timeout)/

/** Whether an error says that the connection, and not the statement, was at fault. */
export const isLost = (error: unknown): boolean =>
  error instanceof Error &&
  (lostStates.test(codeOf(error)) ||
    lostCalls.test(codeOf(error)) ||
    (codeOf(error) === '' && lostWords.test(error.message)))

/** Wrong password, user, database or rights: waiting cures none of them. */
const isRefused = (error: unknown): boolean => /^(28...|3D000|42501)$/.test(codeOf(error))

const textOf = (error: unknown): string => messageOf(error) || codeOf(error) || 'no reason given'

export const unavailable = (place: DatabasePlace, error: unknown): AppError =>
  new AppError(
    'STORE_UNAVAILABLE',
    `the database ${nameOf(place)} does not answer (${textOf(error)}); the engine goes on by itself when it is back`,
  )

/** For the opening of the store: what a person must mend is told as that. */
export const openingError = (place: DatabasePlace, error: unknown): unknown => {
  if (isLost(error)) return unavailable(place, error)
  if (!isRefused(error)) return error
  return new AppError(
    'CONFIG_INVALID',
    `the database ${nameOf(place)} refused the connection (${textOf(error)}); correct --database-url or UNSTUCK_DATABASE_URL, or the rights there`,
  )
}
