/**
 * The second home of the store. A pool of connections, each in the repository's own schema; connecting is repeated with
 * backoff, a statement never: when its connection broke it may have happened, so it fails with STORE_UNAVAILABLE and the
 * caller looks at what is there. Reads from the engine's own transactions see what PGlite would show.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, types, type CustomTypesConfig, type PoolClient } from 'pg'
import { backoff } from '../domain/backoff.ts'
import type { Db, Queryable, Sql } from './db.ts'
import { connectionUrl, isLost, openingError, unavailable, type DatabasePlace } from './postgres-place.ts'
import { openSession, reconnectBackoff, type Session } from './postgres-session.ts'

export interface PostgresOptions {
  place: DatabasePlace
  /** Refuse every change, and make nothing that is missing. */
  reading?: boolean
  /** Whether to seek the right to lead, which one process at a time has. */
  lead?: boolean
  /** Rung when somebody else changed the store. Absent = polling alone. */
  changed?: (() => void) | undefined
  /** How long a statement waits for a connection before it fails. */
  patienceMs?: number
}

const int8 = 20

/** As PGlite gives them: int8 as number. Per pool, so that another user of the package keeps its own. */
const parsers: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as CustomTypesConfig['getTypeParser'],
}

interface Link {
  place: DatabasePlace
  pool: Pool
  session: Session
  patienceMs: number
}

const openPool = (place: DatabasePlace, self: string, reading: boolean): Pool => {
  const pool = new Pool({
    connectionString: connectionUrl(place, reading ? '-c default_transaction_read_only=on' : ''),
    application_name: self,
    types: parsers,
    max: 8,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // A server that vanished without a word must not hold a statement for ever; it ends there first where it still runs.
    statement_timeout: 25_000,
    query_timeout: 30_000,
    idle_in_transaction_session_timeout: 60_000,
  })
  // Without a listener a broken idle or borrowed connection would end the process; its next user sees the error.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Connecting changes nothing, so it is repeated until it works or the caller's patience ends. */
const borrow = async ({ place, pool, session, patienceMs }: Link): Promise<PoolClient> => {
  const deadline = performance.now() + patienceMs
  await session.ready(patienceMs)
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await pool.connect()
    } catch (error) {
      if (!isLost(error)) throw error
      if (performance.now() > deadline) throw unavailable(place, error)
      await delay(backoff(attempt, reconnectBackoff))
    }
  }
}

/** Runs `work` on one connection. A broken one is thrown away, and the error says that it was that. */
const using = async <T>(link: Link, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await borrow(link)
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    client.release(isLost(error))
    throw isLost(error) ? unavailable(link.place, error) : error
  }
}

const rowsOf = async <Row>(client: PoolClient, statement: Sql): Promise<Row[]> =>
  (await client.query(statement.text, statement.values)).rows as Row[]

/** Leaves a connection as it was found; where that fails it is broken, and the first error tells more. */
const undo = async (client: PoolClient, error: unknown): Promise<never> => {
  if (!isLost(error)) await client.query('rollback')
  throw error
}

const transact = async <T>(client: PoolClient, work: (tx: Queryable) => Promise<T>): Promise<T> => {
  await client.query('begin')
  try {
    const result = await work({ query: (statement) => rowsOf(client, statement) })
    const { command } = await client.query('commit')
    // A transaction in which a statement failed is rolled back by the server, and without an error.
    if (command === 'ROLLBACK') throw new Error('a statement of this transaction failed and nothing of it was kept')
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

/** Racing starters take turns; one without the right to create a schema may use one that is there. */
const createSchema = ({ schema }: DatabasePlace): string => `
  begin;
  select pg_advisory_xact_lock(hashtextextended('unstuck schema ${schema}', 0));
  do $$ begin
    if not exists (select 1 from pg_namespace where nspname = '${schema}') then create schema "${schema}"; end if;
  end $$;
  commit;`

export const openPostgres = async (options: PostgresOptions): Promise<Db> => {
  const { place } = options
  const self = `unstuck-${randomBytes(6).toString('hex')}`
  const { reading = false, lead = false, changed, patienceMs = 15_000 } = options
  const session = openSession({ place, self, lead, changed })
  const pool = openPool(place, self, reading)
  const link: Link = { place, pool, session, patienceMs }
  const close = async (): Promise<void> => {
    await session.close()
    await pool.end()
  }
  try {
    await using(link, (client) => runScript(client, reading ? 'select 1' : createSchema(place)))
  } catch (error) {
    await close()
    throw openingError(place, error)
  }
  return {
    query: (statement) => using(link, (client) => rowsOf(client, statement)),
    transaction: (work) => using(link, (client) => transact(client, work)),
    script: (text) => using(link, (client) => runScript(client, text)),
    leads: session.leads,
    close,
  }
}
