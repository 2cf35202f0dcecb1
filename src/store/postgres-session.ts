/**
 * The one long-lived session next to the pool. It tries to get and keep the leadership, an advisory lock that ends
 * with the session, and listens for changes by others. It reconnects for as long as the store is open. The writes of a
 * leader are fenced by its term (leader.ts), so a session that lost the lock without noticing does no harm.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { backoff } from '../domain/backoff.ts'
import { AppError } from '../errors.ts'
import { connectionUrl, isConnectionError, storeUnavailable, type DatabaseLocation } from './postgres-location.ts'

export interface DbSessionOptions {
  location: DatabaseLocation
  /** The name of this process's connections. Notifications with this name come from our own writes and are ignored. */
  self: string
  /** Whether to try to become the leader. */
  mayLead: boolean
  /**
   * Called when others changed the store, and after a gap in which a notification may have been lost. Absent = do not
   * listen.
   */
  onForeignChange?: (() => void) | undefined
  /** Names what only one session at a time may have, such as the engine of a repository on a host; absent = nothing. */
  exclusive?: string | undefined
}

export interface DbSession {
  /**
   * Resolves when the session is connected. Rejects after `patienceMs`, or at once if the store is closed or refuses
   * the connection.
   */
  ready(patienceMs: number): Promise<void>
  /** Whether this session is the leader, as far as it knows. */
  isLeader(): boolean
  close(): Promise<void>
}

/** The first delay is short, so that a restart of the server costs little time. */
export const reconnectBackoff = { firstMs: 50, maxMs: 2_000 }

interface State {
  held: boolean
  leads: boolean
  /** It was connected once, so a refusal now may be temporary, and `ready` waits. */
  wasConnected: boolean
  attempt: number
  /**
   * Why it is not connected. If the first opening fails for a reason that waiting cannot cure, `ready` rejects with
   * it.
   */
  problem: unknown
}

/**
 * Milliseconds between two tries to become the leader. The leader queries at the same pace, which proves that it is
 * alive.
 */
const leadPollMs = 1_000

/** Key of the lock that only one engine of a repository has on a host, of the schema and the name of both. */
export const exclusiveKey = `hashtextextended('unstuck engine ' || $1::text || ' ' || $2::text, 0)`

/**
 * The schema is passed by name because it may not exist yet: then `current_schema()` is null, and so would be the key
 * of the lock.
 */
const tryLeadership = async (client: Client, schema: string): Promise<boolean> => {
  const { rows } = await client.query<{ held: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('unstuck leader ' || $1::text, 0)) as held`,
    [schema],
  )
  return rows[0]?.held === true
}

/** The holder's name contains its process, see `openPostgres`. */
const holderOf = async (client: Client, schema: string, name: string): Promise<string> => {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_stat_activity a join pg_locks l on l.pid = a.pid
    where l.locktype = 'advisory' and l.granted and ((l.classid::bigint << 32) | l.objid::bigint) = ${exclusiveKey}`,
    [schema, name],
  )
  return /-(\d+)$/.exec(rows[0]?.name ?? '')?.[1] ?? 'unknown'
}

/** Milliseconds: the server notices within a second that a killed client is gone, also in the middle of a statement. */
const exclusivePatienceMs = 5_000

/** Takes the exclusive lock of a session. Throws STORE_LOCKED if another process keeps it. */
const takeExclusive = async (client: Client, { location: { schema }, exclusive }: DbSessionOptions): Promise<void> => {
  if (exclusive === undefined) return
  for (const began = performance.now(); ; await delay(50)) {
    const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${exclusiveKey}) as held`, [
      schema,
      exclusive,
    ])
    if (rows[0]?.held === true) return
    if (performance.now() - began > exclusivePatienceMs)
      throw new AppError(
        'STORE_LOCKED',
        `process ${await holderOf(client, schema, exclusive)} uses the store of this repository; use that engine ("unstuck status"), or stop it first ("unstuck stop")`,
      )
  }
}

/** Tries to become the leader for as long as the connection lasts. Rejects when the server does not respond. */
const seekLeadership = async (
  client: Client,
  options: DbSessionOptions,
  state: State,
  over: AbortSignal,
): Promise<void> => {
  while (!over.aborted) {
    if (state.leads) await client.query('select 1')
    else if (await tryLeadership(client, options.location.schema)) {
      state.leads = true
      options.onForeignChange?.()
    }
    await delay(leadPollMs, undefined, { signal: over }).catch(() => undefined) // aborted: the loop ends
  }
}

/** One connection, from connecting to its end. */
const hold = async (options: DbSessionOptions, state: State, closing: AbortSignal): Promise<void> => {
  // The embedded server may have ended since.
  if (state.attempt > 0 || state.wasConnected) await options.location.server?.start()
  const client = new Client({
    connectionString: connectionUrl(options.location),
    application_name: options.self,
    connectionTimeoutMillis: 5_000,
    // After this long without a response the session counts as lost, and its lock with it.
    query_timeout: 10_000,
    keepAlive: true,
  })
  const over = new AbortController()
  const gone = new Promise<unknown>((resolve) => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('Connection terminated')))
    closing.addEventListener('abort', resolve, { once: true })
  })
  try {
    await client.connect()
    await takeExclusive(client, options)
    if (options.mayLead) state.leads = await tryLeadership(client, options.location.schema)
    if (options.onForeignChange !== undefined) {
      client.on('notification', ({ payload }) => payload !== options.self && options.onForeignChange?.())
      await client.query(`listen "${options.location.schema}"`)
    }
    Object.assign(state, { held: true, wasConnected: true, attempt: 0, problem: undefined })
    options.onForeignChange?.()
    const seeking = options.mayLead ? seekLeadership(client, options, state, over.signal) : gone
    state.problem = await Promise.race([gone, seeking.catch((error: unknown) => error)])
  } finally {
    Object.assign(state, { held: false, leads: false })
    over.abort()
    await client.end().catch(() => undefined) // the connection is broken already
  }
}

export const openDbSession = (options: DbSessionOptions): DbSession => {
  const state: State = { held: false, leads: false, wasConnected: false, attempt: 0, problem: undefined }
  const closing = new AbortController()
  const keep = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await hold(options, state, closing.signal).catch((error: unknown) => (state.problem = error))
      await delay(backoff(state.attempt++, reconnectBackoff), undefined, { signal: closing.signal }).catch(
        () => undefined,
      ) // closed: the loop ends
    }
  }
  const kept = keep()
  const mayPass = (problem: unknown): boolean =>
    state.wasConnected || problem === undefined || isConnectionError(problem)
  return {
    ready: async (patienceMs) => {
      const deadline = performance.now() + patienceMs
      while (!state.held) {
        if (closing.signal.aborted) throw new Error('the store was closed')
        if (!mayPass(state.problem)) throw state.problem
        if (performance.now() > deadline) throw storeUnavailable(options.location, state.problem)
        await delay(10)
      }
    },
    isLeader: () => state.leads,
    close: async () => {
      closing.abort()
      await kept
    },
  }
}
