/**
 * Following the events: one stream per engine, and where it breaks off the next one continues behind the last event that
 * arrived whole. So a restart of the engine, a cut connection or a slow terminal loses and doubles nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import type { Client } from './client.ts'

const retryMs = 250

export interface Following {
  first: Client
  goal?: string | undefined
  /** Number of the last event that is known; absent = none. */
  after?: number
  signal: AbortSignal
  /** Finds or awaits an engine; undefined = give up. */
  reconnect: () => Promise<Client | undefined>
}

/** Every event from the first on, each once, until the signal. */
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
