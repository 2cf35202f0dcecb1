/** The work of `unstuck events`: prints the stored events, then follows new ones across restarts of the engine. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView } from '../api/contract.ts'
import { exitCodes } from '../errors.ts'
import { sentenceOf } from '../runtime/people/event-sentences.ts'
import type { JsonOption } from './command-options.ts'
import type { Client } from './engine/client.ts'
import { findEngine } from './engine/connect.ts'
import { followEvents } from './engine/follow-events.ts'
import { homeOf } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { localTimes, secondText } from './times.ts'

const pollMs = 300
const pageSize = 500

export interface EventsOptions extends JsonOption {
  follow?: boolean
  goal?: string
}

const showEvents = (io: Io, batch: EventView[], options: JsonOption): void => {
  const now = new Date()
  for (const event of batch) {
    if (options.json === true) printJson(io, event)
    else
      printLine(io, `${secondText(event.at, now)} ${event.type.padEnd(24)} ${localTimes(safe(sentenceOf(event)), now)}`)
  }
}

/** Waits for an engine without starting one: a command that only shows something must not undo `unstuck stop`. */
const awaitEngine = async (io: Io): Promise<Client | undefined> => {
  const home = await homeOf(io)
  for (let noticed = false; !io.signal.aborted; noticed = true) {
    const client = await findEngine(home)
    if (client !== undefined) return client
    if (!noticed) io.error('no engine is running; waiting for one to start (Ctrl-C to quit)\n')
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
  return undefined
}

/** Prints the stored events, page by page; returns the number of the last event. */
const showStored = async (io: Io, client: Client, options: EventsOptions): Promise<number> => {
  const filter = options.goal === undefined ? '' : `&goal=${encodeURIComponent(options.goal)}`
  for (let after = 0; ;) {
    const page = await client.get<EventView[]>(`/events?after=${after}&limit=${pageSize}${filter}`)
    showEvents(io, page, options)
    after = page.at(-1)?.seq ?? after
    if (io.signal.aborted || page.length < pageSize) return after
  }
}

/** Without an engine it reads the store, and closes the store before it waits for an engine, which could not open it otherwise. */
export const eventsCommand = async (io: Io, options: EventsOptions): Promise<number> => {
  const after = await readOnly(io, ({ client }) => showStored(io, client, options))
  if (options.follow !== true) return exitCodes.ok
  const first = await awaitEngine(io)
  if (first === undefined) return exitCodes.ok
  const following = { first, after, goal: options.goal, signal: io.signal, reconnect: () => awaitEngine(io) }
  for await (const batch of followEvents(following)) showEvents(io, batch, options)
  return exitCodes.ok
}
