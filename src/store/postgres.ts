/**
 * The store: a pool of connections, each in the repository's own schema. Connecting is retried with backoff, but a statement never is: when
 * its connection broke, it may have been executed, so it fails with STORE_UNAVAILABLE and the caller reads the current state.
 */
import { createHash } from 'node:crypto'
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
import { connectionName } from './server/embedded-server.ts'
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
  /** What only one process at a time may be; see `DbSessionOptions`. */
  exclusive?: string | undefined
}

const int8 = 20

/** Parses int8 as number: ours are small. Set per pool, so that other users of the package keep their parsers. */
const parsers: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as CustomTypesConfig['getTypeParser'],
}

interface Link {
  place: DatabaseLocation
  pool: Pool
  /** Absent for readers, which neither lead nor listen. */
  session: DbSession | undefined
  patienceMs: number
  /** Opens the pool for the present address. */
  reopen(): Pool
  names: StatementNames
}

/** Of our own connections, see `Db.backends`. */
const trackBackends = (pool: Pool, backends: Set<number>): void => {
  const pidOf = (client: PoolClient): number => (client as unknown as { processID: number }).processID
  pool.on('connect', (client) => void backends.add(pidOf(client)))
  pool.on('remove', (client) => void backends.delete(pidOf(client)))
}

const openPool = (place: DatabaseLocation, self: string, reading: boolean): Pool => {
  const pool = new Pool({
    connectionString: connectionUrl(place, reading ? '-c default_transaction_read_only=on' : ''),
    application_name: self,
    types: parsers,
    // Each connection is a process of 5 to 10 MB; on a server of the user's own a new one costs a few milliseconds.
    max: place.server === undefined ? 8 : 4,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: place.server === undefined ? 30_000 : 10_000,
    keepAlive: true,
    // Statements are sent without waiting for the answers to earlier ones; the server executes them in order.
    pipeline: true,
    // Plans depend on how full the tables were when they were made.
    maxLifetimeSeconds: 600,
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

/** Starts the embedded server if it ended. Its address may be another one then. */
const revive = async (link: Link): Promise<void> => {
  if (link.place.server === undefined) return
  const before = link.place.url
  await link.place.server.start()
  if (link.place.url === before) return
  const { pool } = link
  link.pool = link.reopen()
  void pool.end()
}

/** Connecting changes nothing, so it is retried until it works or the caller's patience ends. */
const borrow = async (link: Link): Promise<PoolClient> => {
  const deadline = performance.now() + link.patienceMs
  await link.session?.ready(link.patienceMs)
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await link.pool.connect()
    } catch (error) {
      if (!isConnectionError(error)) throw error
      if (performance.now() > deadline) throw storeUnavailable(link.place, error)
      await delay(backoff(attempt, reconnectBackoff))
      await revive(link)
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

interface StatementNames {
  of(text: string): string
  /** Connections prepare their statements again, under other names. */
  renew(): void
}

/** A named statement is parsed and planned once per connection. Equal names mean equal texts, also behind a proxy that shares connections. */
const statementNames = (): StatementNames => {
  const known = new Map<string, string>()
  let made = 0
  return {
    of: (text) => {
      const name = known.get(text) ?? `u${made}_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
      known.set(text, name)
      return name
    },
    renew: () => {
      known.clear()
      made += 1
    },
  }
}

/** Whether a prepared statement was not executed, because the columns of its tables were changed by a migration of another engine. */
const isOutdatedPlan = (error: unknown): boolean => {
  const { code, routine } = (error ?? {}) as { code?: unknown; routine?: unknown }
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** Statements that are issued in one turn go to the server in one piece: a system call costs the engine as much as the rest of a statement. */
const sendTogether = ({ connection: { stream } }: PoolClient): void => {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

const rowsOf = async <Row>(client: PoolClient, { names }: Link, { text, values }: Sql): Promise<Row[]> => {
  sendTogether(client)
  return (await client.query({ name: names.of(text), text, values })).rows as Row[]
}

/** The only error of a statement after which it is repeated: it was refused before it began. */
const queryOnce = async <Row>(link: Link, statement: Sql): Promise<Row[]> => {
  try {
    return await using(link, (client) => rowsOf<Row>(client, link, statement))
  } catch (error) {
    if (!isOutdatedPlan(error)) throw error
    link.names.renew()
    return await using(link, (client) => rowsOf<Row>(client, link, statement))
  }
}

/**
 * Rolls back, so that the connection can be reused. If that fails, the connection is broken, and the first error is
 * the useful one.
 */
const undo = async (client: PoolClient, error: unknown): Promise<never> => {
  if (!isConnectionError(error)) await client.query('rollback')
  throw error
}

/** A transaction may have read what is outdated now, so its caller reads the store again. 40001 = it was not committed and may be repeated. */
const outdatedTransaction = (link: Link): Error => {
  link.names.renew()
  return Object.assign(
    new Error('another engine changed the tables of the store during a transaction; it was rolled back'),
    {
      code: '40001',
    },
  )
}

/**
 * The first statements are sent together with `begin`, and statements that were issued together are answered together. One that fails makes
 * all later ones fail, `commit` included, so none is executed outside the transaction.
 */
const transact = async <T>(link: Link, client: PoolClient, work: (tx: Queryable) => Promise<T>): Promise<T> => {
  sendTogether(client)
  const begun = client.query('begin')
  begun.catch(() => undefined) // awaited below; the statements behind it may fail first
  let isOver = false
  // Work that goes on after a part of it failed must not write outside the transaction.
  const query = async <Row>(statement: Sql): Promise<Row[]> => {
    if (isOver) throw new Error('the transaction of this statement is over')
    return rowsOf<Row>(client, link, statement)
  }
  try {
    const result = await work({ query })
    isOver = true
    await begun
    const { command } = await client.query('commit')
    // The server rolls back a transaction in which a statement failed, and reports no error for the commit.
    if (command === 'ROLLBACK')
      throw new Error('a statement of this transaction failed, so the transaction was rolled back')
    return result
  } catch (error) {
    isOver = true
    return await undo(client, isOutdatedPlan(error) ? outdatedTransaction(link) : error)
  }
}

const runScript = async (link: Link, client: PoolClient, text: string): Promise<void> => {
  try {
    await client.query(text)
  } catch (error) {
    await undo(client, error)
  } finally {
    // It may have changed the tables that statements were prepared for, also if a later part of it failed.
    link.names.renew()
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
  const { location, exclusive } = options
  // The process is named for people who look at the server, and in the message to an engine that comes second.
  const self = connectionName()
  const { reading = false, mayLead = false, onForeignChange, patienceMs = 15_000 } = options
  await location.server?.start()
  const session = reading ? undefined : openDbSession({ location, self, mayLead, onForeignChange, exclusive })
  const backends = new Set<number>()
  const reopen = (): Pool => {
    const pool = openPool(location, self, reading)
    trackBackends(pool, backends)
    return pool
  }
  const link: Link = { place: location, pool: reopen(), session, patienceMs, reopen, names: statementNames() }
  const close = async (): Promise<void> => {
    await session?.close()
    await link.pool.end()
    await location.server?.leave(self)
  }
  try {
    await using(link, (client) => runScript(link, client, reading ? 'select 1' : createSchema(location)))
  } catch (error) {
    await close()
    throw openingError(location, error)
  }
  return {
    query: (statement) => queryOnce(link, statement),
    transaction: (work) => using(link, (client) => transact(link, client, work)),
    script: (text) => using(link, (client) => runScript(link, client, text)),
    // One engine has the schema on a server of the user's own.
    ...(location.server === undefined ? {} : { backends: () => backends }),
    ...(location.server !== undefined || session === undefined ? {} : { isLeader: session.isLeader }),
    close,
  }
}
