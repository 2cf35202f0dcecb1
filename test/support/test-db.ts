/**
 * Databases of tests, on the one server that the suite shares (global-setup.ts). A copy of the template is a migrated, empty store
 * within 20 ms. Files that stop a server start their own (server.ts).
 */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { sql, type Db } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import { openPostgres, type PostgresOptions } from '../../src/store/postgres.ts'
import { parseDatabaseUrl } from '../../src/store/postgres-location.ts'
import { connectionName } from '../../src/store/server/embedded-server.ts'

/** How to reach the shared server. */
export interface SharedServer {
  /** By its Unix socket, with the password and its database `postgres`. */
  url: string
  /** Engines whose `$UNSTUCK_HOME/postgres` is a link into this folder use the server. */
  home: string
}

const template = 'unstuck_template'

/** The id of the repository whose schema the template has. */
const repository = 'test'

const urlOf = (server: string, name: string): string => {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

const onServer = async (server: string, statement: string): Promise<void> => {
  const client = new Client({ connectionString: server, application_name: connectionName() })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Makes the database from which those of the tests are copied. */
export const makeTemplate = async (server: string): Promise<void> => {
  await onServer(server, `create database ${template} template template0`)
  const db = await openPostgres({ location: parseDatabaseUrl(urlOf(server, template), repository) })
  await migrate(db)
  await db.close()
}

export interface TestDatabase {
  /** Holds the password. */
  url: string
  /** Another process's view of the migrated store: each call has its own connections. */
  open(options?: Partial<PostgresOptions>): Promise<Db>
  /** The store of a repository, which is not migrated. */
  openEmpty(repositoryId: string, options?: Partial<PostgresOptions>): Promise<Db>
  clear(): Promise<void>
}

export const openTestDatabase = async (): Promise<TestDatabase> => {
  const { url } = inject('server')
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(url, `create database ${name} template ${template} strategy file_copy`)
  const openEmpty = (id: string, options: Partial<PostgresOptions> = {}): Promise<Db> =>
    openPostgres({ location: parseDatabaseUrl(urlOf(url, name), id), ...options })
  return {
    url: urlOf(url, name),
    open: (options = {}) => openEmpty(repository, options),
    openEmpty,
    clear: () => onServer(url, `drop database ${name} with (force)`),
  }
}

/** A migrated, empty store in a database of its own, which goes with it. Nobody shares it, so it does not speak of a leader. */
export const openTestDb = async (): Promise<Db> => {
  const database = await openTestDatabase()
  const { query, transaction, script, close } = await database.open()
  return { query, transaction, script, close: () => close().then(database.clear) }
}

/**
 * Gives the store of a test a clock that only the test moves. The setting `unstuck.now` would hold for one connection of several, so
 * the clock is a table that the store's function reads.
 */
export const clockOf = async (db: Db): Promise<(now: Date) => Promise<void>> => {
  await db.script(`
    create table test_clock as select clock_timestamp() as now;
    create or replace function unstuck_now() returns timestamptz language sql stable as 'select now from test_clock';`)
  return async (now) => void (await db.query(sql`update test_clock set now = ${now}`))
}
