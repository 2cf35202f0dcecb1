/**
 * One reader of the event table for all followers. While there are followers it reads after each write, and polls in case a
 * notice was missed. Every follower gets each event of its filter once and in order. A follower that cannot keep up uses
 * bounded memory and is disconnected; it resumes after the number of its last event.
 */
import { eventView } from './event-view.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../runtime/core/context.ts'
import type { Queryable } from '../store/db.ts'
import { readEvents, stableUpTo, type StoredEvent } from '../store/event.ts'
import type { Sink } from './sink.ts'

export interface Follow {
  after: number
  goalId: string | null
  taskId: string | null
  runId: string | null
}

export interface HubOptions {
  db: Queryable
  log: Logger
  /** Interval of the poll that covers a missed notice. */
  pollMs?: number
  heartbeatMs?: number
}

export interface EventHub {
  /** Reads soon, because there may be new events. */
  nudge(): void
  follow(sink: Sink, wanted: Follow): void
  followers(): number
  /** Delivers the remaining events and ends every stream. */
  close(): Promise<void>
}

interface Entry {
  event: StoredEvent
  frame: Buffer
}

interface Follower extends Follow {
  sink: Sink
  /** It receives what the reader reads; before that it catches up with reads of its own. */
  live: boolean
}

const pageSize = 200
const readSize = 500
/** Writes within this time are read together. */
const gatherMs = 10
/** Kept in memory, so that a follower that reconnects soon needs no read of its own. */
const recentEvents = 1000
const recentBytes = 4 * 1024 * 1024
const heartbeat = Buffer.from(': \n\n')
const farewell = Buffer.from(': the engine has stopped\n\n')

const entryOf = (event: StoredEvent): Entry => ({
  event,
  frame: Buffer.from(`id: ${event.id}\ndata: ${JSON.stringify(eventView(event))}\n\n`),
})

const wants = ({ goalId, taskId, runId, after }: Follow, event: StoredEvent): boolean =>
  event.id > after &&
  (goalId === null || event.goalId === goalId) &&
  (taskId === null || event.taskId === taskId) &&
  (runId === null || event.runId === runId)

const framesFor = (follower: Follow, entries: readonly Entry[]): Buffer =>
  Buffer.concat(entries.filter(({ event }) => wants(follower, event)).map(({ frame }) => frame))

/** The newest events, bounded; complete for every number above `from`. */
const createRecent = (from: number) => {
  const entries: Entry[] = []
  let bytes = 0
  let start = from
  let end = from
  return {
    covers: (after: number): boolean => after >= start,
    since: (after: number): Entry[] => entries.filter(({ event }) => event.id > after).slice(0, pageSize),
    add: (read: readonly Entry[]): void => {
      // A read that started before this list may return events that are already in it.
      const added = read.filter(({ event }) => event.id > end)
      for (const entry of added) bytes += entry.frame.length
      entries.push(...added)
      end = added.at(-1)?.event.id ?? end
      while (entries.length > recentEvents || bytes > recentBytes) {
        const dropped = entries.shift()
        bytes -= dropped?.frame.length ?? 0
        start = dropped?.event.id ?? start
      }
    },
  }
}

/** Sends a batch to the live followers. Most have no filter, so their bytes are built once. */
const deliver = (followers: Iterable<Follower>, entries: readonly Entry[]): void => {
  const all = Buffer.concat(entries.map(({ frame }) => frame))
  const [first] = entries
  const last = entries.at(-1)
  if (first === undefined || last === undefined) return
  for (const follower of followers) {
    if (!follower.live) continue
    const plain =
      follower.goalId === null && follower.taskId === null && follower.runId === null && follower.after < first.event.id
    const chunk = plain ? all : framesFor(follower, entries)
    if (chunk.length > 0) follower.sink.push(chunk)
    follower.after = Math.max(follower.after, last.event.id)
  }
}

interface State {
  followers: Set<Follower>
  head: number
  recent: ReturnType<typeof createRecent>
  closed: boolean
}

const readAll = async (db: Queryable, state: State): Promise<void> => {
  for (let full = true; full;) {
    const page = await readEvents(db, { after: state.head, limit: readSize })
    const entries = page.map(entryOf)
    state.head = Math.max(state.head, page.at(-1)?.id ?? 0)
    state.recent.add(entries)
    deliver(state.followers, entries)
    full = page.length === readSize
  }
}

/** One read at a time; a nudge during a read causes another one. */
const createReader = ({ db, log }: HubOptions, state: State) => {
  let work: Promise<void> | undefined
  let again = false
  const run = async (): Promise<void> => {
    do {
      again = false
      await readAll(db, state)
    } while (again)
  }
  return {
    read: (): Promise<void> => {
      again = true
      work ??= run()
        .catch((error: unknown) =>
          log.warn({ error: messageOf(error) }, 'the events could not be read; trying again soon'),
        )
        .finally(() => (work = undefined))
      return work
    },
  }
}

/** Sends what a follower missed, at its own pace, until it is where the reader is. */
const catchUp = async (db: Queryable, state: State, follower: Follower): Promise<void> => {
  const { sink } = follower
  while (!sink.closed() && !state.closed) {
    const { head, recent } = state
    if (follower.after >= head) {
      follower.live = true
      return
    }
    const entries = recent.covers(follower.after)
      ? recent.since(follower.after)
      : (await readEvents(db, { ...follower, upTo: head, limit: pageSize })).map(entryOf)
    const chunk = framesFor(follower, entries)
    const last = entries.at(-1)?.event.id ?? follower.after
    follower.after = entries.length < pageSize ? Math.max(head, last) : last
    if (chunk.length > 0) await sink.send(chunk)
  }
}

/** The timers of the reader: soon after a nudge, and at intervals while there are followers, which also get heartbeats. */
const createSchedule = (state: State, { pollMs = 1_000, heartbeatMs = 15_000 }: HubOptions, read: () => void) => {
  let soon: NodeJS.Timeout | undefined
  let timers: NodeJS.Timeout[] = []
  const nudge = (): void => {
    if (state.closed || state.followers.size === 0) return
    soon ??= setTimeout(() => {
      soon = undefined
      read()
    }, gatherMs)
  }
  return {
    nudge,
    forget: () => clearTimeout(soon),
    start: () => {
      timers = [setInterval(nudge, pollMs), setInterval(() => sendHeartbeats(state), heartbeatMs)]
    },
    pause: () => {
      for (const timer of timers) clearInterval(timer)
      timers = []
    },
  }
}

const sendHeartbeats = ({ followers }: State): void => {
  for (const { sink, live } of followers) {
    if (sink.stalled()) sink.cut()
    else if (live) sink.push(heartbeat)
  }
}

export const createEventHub = (options: HubOptions): EventHub => {
  const { db, log } = options
  const state: State = { followers: new Set(), head: 0, recent: createRecent(0), closed: false }
  const reader = createReader(options, state)
  const schedule = createSchedule(state, options, () => void reader.read())
  let awake: Promise<void> | undefined
  /** After a time without followers the reader starts at the end; each follower reads the events before that itself. */
  const wake = async (): Promise<void> => {
    schedule.start()
    state.head = Math.max(state.head, await stableUpTo(db))
    state.recent = createRecent(state.head)
  }
  const rest = (): void => {
    schedule.pause()
    awake = undefined
  }
  const leave = (follower: Follower): void => {
    if (state.followers.delete(follower) && state.followers.size === 0) rest()
  }
  return {
    nudge: schedule.nudge,
    followers: () => state.followers.size,
    follow: (sink, wanted) => {
      const follower: Follower = { ...wanted, sink, live: false }
      if (state.closed) return sink.cut()
      state.followers.add(follower)
      sink.onClose(() => leave(follower))
      awake ??= wake()
      awake
        .then(() => catchUp(db, state, follower))
        .catch((error: unknown) => {
          log.warn({ error: messageOf(error) }, 'a follower of the events is disconnected; it can reconnect')
          sink.cut()
        })
    },
    close: async () => {
      schedule.forget()
      if (state.followers.size > 0) await reader.read()
      state.closed = true
      const all = [...state.followers]
      rest()
      await Promise.all(all.map(({ sink }) => sink.end(farewell)))
    },
  }
}
