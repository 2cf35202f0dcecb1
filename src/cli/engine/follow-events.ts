/**
 * Follows the events across engines. When a stream ends, the next one starts after the last complete event, so a restart of
 * the engine, a lost connection or a slow terminal neither drops nor repeats an event.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import type { Client } from './client.ts'

const retryMs = 250

export interface Following {
  first: Client
  goal?: string | undefined
  /** Number of the last event already seen; 0 if absent. */
  after?: number
  signal: AbortSignal
  /** Finds or waits for an engine; undefined = stop following. */
  reconnect: () => Promise<Client | undefined>
}

/** Yields every later event once, in order, until the signal aborts. */
export const followEvents = async function* (following: Following): AsyncGenerator<EventView[], void, undefined> {
  const { goal, signal, reconnect } = following
  const filter = goal === undefined ? '' : `?goal=${encodeURIComponent(goal)}`
  let client: Client | undefined = following.first
  let after = following.after ?? 0
  while (client !== undefined && !signal.aborted) {
    try {
      for await (const batch of client.events(`/events${filter}`, after, signal)) {
        after = batch.at(-1)?.seq ?? after
        yield batch
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'ENGINE_UNAVAILABLE') throw error
    }
    if (signal.aborted) return
    await delay(retryMs, undefined, { signal }).catch(() => undefined) // aborted: the loop ends
    if (!signal.aborted) client = await reconnect()
  }
}
