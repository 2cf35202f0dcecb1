/**
 * The store in PostgreSQL: a pool of connections, each in the repository's own schema. Connecting is retried with
 * backoff, but a statement never is: when its connection broke, it may have been executed, so it fails with
 * STORE_UNAVAILABLE and the caller reads the current state. Reads within the engine's own transactions return the same
 * as PGlite.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, types, type CustomTypesConfig, type PoolClient } from 'pg'
import { backoff } from '../domain/backoff.ts'
import type { Db, Queryable, Sql } from './db.ts'
import {
  connectionUrl,
  isConnectionError,
  openingError,
  storeUnavailable,
  type DatabaseLocation,
} from './postgres-location.ts'
import { openDbSession, reconnectBackoff, type DbSession } from './postgres-session.ts'

export interface PostgresOptions {
  location: DatabaseLocation
  /** Refuse every change, and create nothing that is missing. */
  reading?: boolean
  /** Whether to try to become the leader, which one process at a time can be. */
  mayLead?: boolean
  /** Called when another process changed the store. Absent = polling only. */
  onForeignChange?: (() => void) | undefined
  /** Milliseconds that a statement waits for a connection before it fails. */
  patienceMs?: number
}

const int8 = 20

/** Parses int8 as number, like PGlite. Set per pool, so that other users of the package keep their parsers. */
const parsers: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as CustomTypesConfig['getTypeParser'],
}

interface Link {
  place: DatabaseLocation
  pool: Pool
  session: DbSession
  patienceMs: number
}

const openPool = (place: DatabaseLocation, self: string, reading: boolean): Pool => {
  const pool = new Pool({
    connectionString: connectionUrl(place, reading ? '-c default_transaction_read_only=on' : ''),
    application_name: self,
    types: parsers,
    max: 8,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // A server that vanished must not block a statement for ever. The server-side limit is shorter, so a statement
    // that still runs ends there first.
    statement_timeout: 25_000,
    query_timeout: 30_000,
    idle_in_transaction_session_timeout: 60_000,
  })
  // Without a listener a broken connection would end the process; its next user gets the error.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Connecting changes nothing, so it is retried until it works or the caller's patience ends. */
const borrow = async ({ place, pool, session, patienceMs }: Link): Promise<PoolClient> => {
  const deadline = performance.now() + patienceMs
  await session.ready(patienceMs)
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await pool.connect()
    } catch (error) {
      if (!isConnectionError(error)) throw error
      if (performance.now() > deadline) throw storeUnavailable(place, error)
      await delay(backoff(attempt, reconnectBackoff))
    }
  }
}

/** Runs `work` on one connection. A broken connection is discarded, and the error becomes STORE_UNAVAILABLE. */
const using = async <T>(link: Link, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await borrow(link)
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    client.release(isConnectionError(error))
    throw isConnectionError(error) ? storeUnavailable(link.place, error) : error
  }
}

const rowsOf = async <Row>(client: PoolClient, statement: Sql): Promise<Row[]> =>
  (await client.query(statement.text, statement.values)).rows as Row[]

/**
 * Rolls back, so that the connection can be reused. If that fails, the connection is broken, and the first error is
 * the useful one.
 */
const undo = async (client: PoolClient, error: unknown): Promise<never> => {
  if (!isConnectionError(error)) await client.query('rollback')
  throw error
}

const transact = async <T>(client: PoolClient, work: (tx: Queryable) => Promise<T>): Promise<T> => {
  await client.query('begin')
  try {
    const result = await work({ query: (statement) => rowsOf(client, statement) })
    const { command } = await client.query('commit')
    // The server rolls back a transaction in which a statement failed, and reports no error for the commit.
    if (command === 'ROLLBACK')
      throw new Error('a statement of this transaction failed, so the transaction was rolled back')
    return result
  } catch (error) {
    return await undo(client, error)
  }
}

const runScript = async (client: PoolClient, text: string): Promise<void> => {
  try {
    await client.query(text)
  } catch (error) {
    await undo(client, error)
  }
}

/**
 * Engines that start at the same time take turns. A user without the right to create a schema may use an existing one.
 */
const createSchema = ({ schema }: DatabaseLocation): string => `
  begin;
  select pg_advisory_xact_lock(hashtextextended('unstuck schema ${schema}', 0));
  do $$ begin
    if not exists (select 1 from pg_namespace where nspname = '${schema}') then create schema "${schema}"; end if;
  end $$;
  commit;`

/**
 * Connects and creates the schema if it is missing. Throws an `AppError` that names host and database, never the
 * password.
 */
export const openPostgres = async (options: PostgresOptions): Promise<Db> => {
  const { location } = options
  const self = `unstuck-${randomBytes(6).toString('hex')}`
  const { reading = false, mayLead = false, onForeignChange, patienceMs = 15_000 } = options
  const session = openDbSession({ location, self, mayLead, onForeignChange })
  const pool = openPool(location, self, reading)
  const link: Link = { place: location, pool, session, patienceMs }
  const close = async (): Promise<void> => {
    await session.close()
    await pool.end()
  }
  try {
    await using(link, (client) => runScript(client, reading ? 'select 1' : createSchema(location)))
  } catch (error) {
    await close()
    throw openingError(location, error)
  }
  return {
    query: (statement) => using(link, (client) => rowsOf(client, statement)),
    transaction: (work) => using(link, (client) => transact(client, work)),
    script: (text) => using(link, (client) => runScript(client, text)),
    isLeader: session.isLeader,
    close,
  }
}
