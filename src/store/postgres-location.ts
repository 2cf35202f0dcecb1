/**
 * The location of a PostgreSQL store and the meaning of its errors. The URL contains a password, so messages name only
 * host and database.
 */
import { AppError, messageOf } from '../errors.ts'
import type { EmbeddedServer, DatabaseRole } from './server/embedded-server.ts'

/** The part of a database that belongs to one repository. */
export interface DatabaseLocation {
  /** Contains the password. Read before each connection: the socket of the embedded server may move when it starts again. */
  readonly url: string
  schema: string
  /** The embedded server, which is started if it does not run. Absent = the server of a database URL. */
  server?: EmbeddedServer
}

const identifierLimit = 63

/** A schema per repository: the readable start of its id, and the hash at its end that makes it unique. */
export const schemaOf = (repositoryId: string): string => {
  const plain = `unstuck_${repositoryId.toLowerCase().replace(/[^a-z0-9]+/g, '_')}`
  return plain.length <= identifierLimit ? plain : `${plain.slice(0, identifierLimit - 13)}_${plain.slice(-12)}`
}

/** Checks a PostgreSQL URL. The error does not quote it, because it may contain a password. */
export const parseDatabaseUrl = (url: string, repositoryId: string): DatabaseLocation => {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new AppError(
      'CONFIG_INVALID',
      'the database URL (--database-url or UNSTUCK_DATABASE_URL) is not valid; use postgresql://user:password@host:5432/database, with special characters of the password percent-encoded',
    )
  }
  return { url, schema: schemaOf(repositoryId) }
}

/** The store to use: the database URL in the environment, else the embedded server (undefined). */
export const configuredDatabase = (
  environment: Record<string, string | undefined>,
  repositoryId: string,
): DatabaseLocation | undefined => {
  const url = environment.UNSTUCK_DATABASE_URL ?? ''
  return url === '' ? undefined : parseDatabaseUrl(url, repositoryId)
}

/** The store of a repository on the user's own server. */
export const embeddedLocation = (
  server: EmbeddedServer,
  repositoryId: string,
  role: DatabaseRole,
): DatabaseLocation => ({
  get url() {
    const url = server.url(role)
    if (url === undefined) throw new Error('the embedded PostgreSQL has not been started')
    return url
  },
  schema: schemaOf(repositoryId),
  server,
})

/** For people and logs, without user and password. */
export const describeDatabase = ({ url, schema, server }: DatabaseLocation): string => {
  if (server !== undefined) return `of the embedded PostgreSQL, schema ${schema}`
  const { hostname, port, pathname } = new URL(url)
  return `${hostname || 'localhost'}:${port || '5432'}${pathname}, schema ${schema}`
}

export const storeName = (place: DatabaseLocation | undefined): string =>
  place === undefined ? 'embedded' : describeDatabase(place)

/** The schema is set with the connection, so that no statement can run before it is set. */
export const connectionUrl = ({ url, schema }: DatabaseLocation, more = ''): string => {
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

/** Connection exceptions, shutdown and start of the server, sessions ended by a timeout, too many connections. */
const lostStates = /^(08...|57P0[1-5]|25P0[34]|53300)$/
const lostCalls = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/
const lostWords =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Query read timeout)/

/** Whether the connection failed and not the statement. */
export const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  (lostStates.test(codeOf(error)) ||
    lostCalls.test(codeOf(error)) ||
    (codeOf(error) === '' && lostWords.test(error.message)))

/** Wrong password, user, database or rights: waiting does not help. */
const isRefused = (error: unknown): boolean => /^(28...|3D000|42501)$/.test(codeOf(error))

const textOf = (error: unknown): string => messageOf(error) || codeOf(error) || 'no reason given'

export const storeUnavailable = (place: DatabaseLocation, error: unknown): AppError =>
  new AppError(
    'STORE_UNAVAILABLE',
    `the database ${describeDatabase(place)} does not respond (${textOf(error)}); ${place.server === undefined ? 'check that the server runs' : '"unstuck doctor" shows its state'}. The engine continues by itself when it responds`,
  )

/** For opening the store: a problem that a person must fix gets an error that says so. */
export const openingError = (place: DatabaseLocation, error: unknown): unknown => {
  if (isConnectionError(error)) return storeUnavailable(place, error)
  if (!isRefused(error)) return error
  return new AppError(
    'CONFIG_INVALID',
    `the database ${describeDatabase(place)} refused the connection (${textOf(error)}); correct --database-url or UNSTUCK_DATABASE_URL, or grant this user the rights`,
  )
}
