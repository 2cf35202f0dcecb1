/**
 * The one long-lived session beside the pool: it seeks and holds the right to lead, an advisory lock that ends with it, and
 * listens for changes that others made. It reconnects by itself for as long as the store is open. What a leader writes is
 * fenced by its term (leader.ts), so a session that lost the lock without knowing it does no harm.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { backoff } from '../domain/backoff.ts'
import { connectionUrl, isLost, unavailable, type DatabasePlace } from './postgres-place.ts'

export interface SessionOptions {
  place: DatabasePlace
  /** Name of this process's connections; a change that carries it is our own. */
  self: string
  /** Whether to seek the lead. */
  lead: boolean
  /** Called at changes by others, and after a gap in which some may have been missed. Absent = do not listen. */
  changed?: (() => void) | undefined
}

export interface Session {
  /** Resolves while the session stands; waits for it, and rejects after `patienceMs` or at once for a closed store. */
  ready(patienceMs: number): Promise<void>
  /** Whether this session holds the right to lead, as far as it knows. */
  leads(): boolean
  close(): Promise<void>
}

/** The first delay is short, so that a restart of the server costs little time. */
export const reconnectBackoff = { firstMs: 50, maxMs: 2_000 }

interface State {
  held: boolean
  leads: boolean
  /** It stood once: what refuses it now may pass, so it is waited for. */
  stood: boolean
  attempt: number
  /** Why it does not stand; a first opening that nothing can cure rejects with it. */
  problem: unknown
}

/** How often the lead is sought, and its holder's connection is tried: a leader that is alive says so at this pace. */
const leadPollMs = 1_000

/** The schema may not be there yet, so its name is given: in an absent one the current schema is null, and so is the key. */
const tryLead = async (client: Client, schema: string): Promise<boolean> => {
  const { rows } = await client.query<{ held: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('unstuck leader ' || $1::text, 0)) as held`,
    [schema],
  )
  return rows[0]?.held === true
}

/** Seeks the lead for as long as the connection stands. Rejects when it does not answer. */
const seekLead = async (client: Client, options: SessionOptions, state: State, over: AbortSignal): Promise<void> => {
  while (!over.aborted) {
    if (state.leads) await client.query('select 1')
    else if (await tryLead(client, options.place.schema)) {
      state.leads = true
      options.changed?.()
    }
    await delay(leadPollMs, undefined, { signal: over }).catch(() => undefined) // over: the loop ends
  }
}

/** One connection from its beginning to its end. */
const hold = async (options: SessionOptions, state: State, closing: AbortSignal): Promise<void> => {
  const client = new Client({
    connectionString: connectionUrl(options.place),
    application_name: options.self,
    connectionTimeoutMillis: 5_000,
    // A server that does not answer for so long is gone for this session, and so is what it held.
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
    if (options.lead) state.leads = await tryLead(client, options.place.schema)
    if (options.changed !== undefined) {
      client.on('notification', ({ payload }) => payload !== options.self && options.changed?.())
      await client.query(`listen "${options.place.schema}"`)
    }
    Object.assign(state, { held: true, stood: true, attempt: 0, problem: undefined })
    options.changed?.()
    const seeking = options.lead ? seekLead(client, options, state, over.signal) : gone
    state.problem = await Promise.race([gone, seeking.catch((error: unknown) => error)])
  } finally {
    Object.assign(state, { held: false, leads: false })
    over.abort()
    await client.end().catch(() => undefined) // it broke; there is nothing left to end
  }
}

export const openSession = (options: SessionOptions): Session => {
  const state: State = { held: false, leads: false, stood: false, attempt: 0, problem: undefined }
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
  const mayPass = (problem: unknown): boolean => state.stood || problem === undefined || isLost(problem)
  return {
    ready: async (patienceMs) => {
      const deadline = performance.now() + patienceMs
      while (!state.held) {
        if (closing.signal.aborted) throw new Error('the store was closed')
        if (!mayPass(state.problem)) throw state.problem
        if (performance.now() > deadline) throw unavailable(options.place, state.problem)
        await delay(10)
      }
    },
    leads: () => state.leads,
    close: async () => {
      closing.abort()
      await kept
    },
  }
}
