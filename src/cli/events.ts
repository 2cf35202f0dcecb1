/** The work of `unstuck events`: every page of the events, or the stream of them over all engines that come and go. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView } from '../api/contract.ts'
import { exitCodes } from '../errors.ts'
import { sentenceOf } from '../runtime/people/explain.ts'
import type { JsonOption } from './command.ts'
import type { Client } from './engine/client.ts'
import { connectKnown, findEngine } from './engine/connect.ts'
import { followEvents } from './engine/follow-events.ts'
import { placeOf } from './engine/place.ts'
import { line, printJson, type Io } from './io.ts'
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
      line(
        io,
        `${secondText(String(event.at), now)} ${event.type.padEnd(24)} ${localTimes(safe(sentenceOf(event)), now)}`,
      )
  }
}

/** Waits for the next engine without starting one: a command that only shows must not undo `unstuck stop`. */
const awaitEngine = async (io: Io): Promise<Client | undefined> => {
  const place = await placeOf(io)
  for (let told = false; !io.signal.aborted; told = true) {
    const client = await findEngine(place)
    if (client !== undefined) return client
    if (!told) io.error('the engine does not answer; waiting for the next one\n')
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
  return undefined
}

export const events = async (io: Io, options: EventsOptions): Promise<number> => {
  const client = await connectKnown(io)
  const { goal } = options
  if (options.follow === true) {
    const following = { first: client, goal, signal: io.signal, reconnect: () => awaitEngine(io) }
    for await (const batch of followEvents(following)) showEvents(io, batch, options)
    return exitCodes.ok
  }
  const filter = goal === undefined ? '' : `&goal=${encodeURIComponent(goal)}`
  for (let after = 0; ;) {
    const page = await client.get<EventView[]>(`/events?after=${after}&limit=${pageSize}${filter}`)
    showEvents(io, page, options)
    after = page.at(-1)?.seq ?? after
    if (io.signal.aborted || page.length < pageSize) return exitCodes.ok
  }
}
