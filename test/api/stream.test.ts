/**
 * The stream of events on a real store and over real connections: complete and in order against the table, whatever the
 * followers do. A small hub of its own, so that thousands of events need no agents.
 */
import { createServer, request, type ClientRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createEventHub, type EventHub } from '../../src/api/event-hub.ts'
import { sinkOf, type Sink } from '../../src/api/sink.ts'
import { readEventStream } from '../../src/cli/engine/client.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { appendEvent, readEvents, type StoredEvent } from '../../src/store/event.ts'
import { withWriteListener } from '../../src/store/write-listener.ts'
import { until } from '../hostile/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let hub: EventHub
let server: Server
let reads = 0
/** What the reads of the table were given: where they begin is among it. */
let given: unknown[] = []
let clients: ClientRequest[] = []
let store: Db
/** What the sinks take for the time. */
let now = 0
const sinks: Sink[] = []
const maxBehind = 64 * 1024

beforeAll(async () => {
  store = await openTestDb()
  const counted: Db = {
    ...store,
    query: async (statement) => {
      if (statement.text.includes('from event')) {
        reads += 1
        given.push(...statement.values)
      }
      return store.query(statement)
    },
  }
  db = withWriteListener(counted, () => hub.nudge())
})
afterAll(async () => db.close())

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

beforeEach(async () => {
  now = 0
  // A poll that never comes: what arrives, arrives because the reader was told.
  hub = createEventHub({ db, log, pollMs: 3_600_000, heartbeatMs: 100 })
  server = createServer((asked, answer) => {
    const url = new URL(asked.url ?? '', 'http://localhost')
    answer.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    answer.flushHeaders()
    const sink = sinkOf(answer, { maxBehind, stallMs: 60_000, now: () => now })
    sinks.push(sink)
    const after = Number(asked.headers['last-event-id'] ?? 0)
    hub.follow(sink, { after, goalId: url.searchParams.get('goal'), taskId: null, runId: null })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  for (const client of clients) client.destroy()
  clients = []
  await hub.close()
  server.close()
})

interface Heard {
  ids: number[]
  ended: () => boolean
  stop: () => void
}

const connect = (after: number, goal = ''): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo
    const path = goal === '' ? '/' : `/?goal=${goal}`
    const sent = request({ port, path, agent: false, headers: { 'last-event-id': String(after) } }, resolve)
    sent.on('error', reject)
    clients.push(sent)
    sent.end()
  })

const listen = async (after = 0, goal = ''): Promise<Heard> => {
  const answer = await connect(after, goal)
  const ids: number[] = []
  let ended = false
  const hear = async (): Promise<void> => {
    for await (const batch of readEventStream(answer)) for (const event of batch) ids.push(event.seq)
  }
  void hear()
    .catch(() => undefined) // the connection was cut, which is what some tests want
    .finally(() => (ended = true))
  return { ids, ended: () => ended, stop: () => answer.destroy() }
}

const write = async (count: number, goalId: string | null = null, size = 10): Promise<void> => {
  for (let index = 0; index < count; index += 1)
    await appendEvent(db, { type: 'run.phase', goalId, payload: { text: 'x'.repeat(size) } })
}

/** Numbers of the table, by way of pages. */
const table = async (after = 0, goalId: string | null = null): Promise<number[]> => {
  const found: StoredEvent[] = []
  for (let full = true; full;) {
    const page = await readEvents(db, { after: found.at(-1)?.id ?? after, limit: 1000, goalId })
    found.push(...page)
    full = page.length === 1000
  }
  return found.map(({ id }) => id)
}

const hears = async (heard: Heard, wanted: number[]): Promise<void> => {
  await until(async () => (heard.ids.length >= wanted.length ? true : undefined), `${wanted.length} events`)
  expect(heard.ids).toEqual(wanted)
}

test('a recovery is framed by its own id, and its number is where a follower goes on', async () => {
  const [before = 0] = (await table()).slice(-1)
  const payload = { id: 'rec_1', worker: 'codex', issue_detected: 'Not inside a trusted directory' }
  await appendEvent(db, { type: 'recovery', payload })
  const answer = await connect(before)
  hub.nudge()
  for await (const [event] of readEventStream(answer)) {
    if (event === undefined) continue
    expect(event).toMatchObject({ type: 'recovery', id: 'rec_1', seq: (await table()).at(-1), payload })
    expect(event.timestamp).toBe(event.at)
    break
  }
  answer.destroy()
})

test('what was, and what comes, each once and in order', async () => {
  await write(450)
  const heard = await listen()
  await write(450)
  await hears(heard, await table())
})

test('a follower that begins while events are being written misses none', async () => {
  const writing = write(600)
  const all: Heard[] = []
  for (let index = 0; index < 5; index += 1) all.push(await listen())
  await writing
  for (const heard of all) await hears(heard, await table())
})

/** A transaction that has written an event and is not committed during the work. */
const whileWriting = (work: () => Promise<void>): Promise<void> =>
  store.transaction(async (tx) => {
    await appendEvent(tx, { type: 'run.phase' })
    await work()
  })

test('a follower that begins while an older event is not committed gets that event as well', async () => {
  await write(1)
  const first = (await table()).at(-1) ?? 0
  let heard: Heard | undefined
  await whileWriting(async () => {
    await write(1)
    heard = await listen(first - 1)
    await hears(heard, [first])
  })
  hub.nudge()
  await hears(heard as Heard, [first, first + 1, first + 2])
})

test('the first follower, which begins while the newest event is not committed, gets that event as well', async () => {
  await write(1)
  const first = (await table()).at(-1) ?? 0
  let heard: Heard | undefined
  await whileWriting(async () => {
    heard = await listen(first - 1)
    await hears(heard, [first])
  })
  await write(1)
  await hears(heard as Heard, [first, first + 1, first + 2])
})

test('Last-Event-ID goes on behind that event, from memory as from the table', async () => {
  const from = (await table()).at(-1) ?? 0
  const first = await listen(from)
  await write(300)
  await hears(first, await table(from))
  given = []
  const middle = first.ids[149] ?? 0
  await hears(await listen(middle), first.ids.slice(150))
  // The hub itself goes on reading at the end of the table.
  expect(given).not.toContain(middle)
  await hears(await listen(from - 100), await table(from - 100))
  expect(given).toContain(from - 100)
})

test('a filter holds for what was and for what comes', async () => {
  const from = (await table()).at(-1) ?? 0
  await write(30, 'g-one')
  await write(30, 'g-two')
  const [one, two, all] = [await listen(from, 'g-one'), await listen(from, 'g-two'), await listen(from)]
  for (let index = 0; index < 20; index += 1) await write(2, index % 2 === 0 ? 'g-one' : 'g-two')
  await hears(one, await table(from, 'g-one'))
  await hears(two, await table(from, 'g-two'))
  await hears(all, await table(from))
  expect([one.ids.length, two.ids.length, all.ids.length]).toEqual([50, 50, 100])
})

test('a hundred followers cost the reads of one, and miss nothing', async () => {
  const from = (await table()).at(-1) ?? 0
  const all = await Promise.all(Array.from({ length: 100 }, () => listen(from)))
  await until(async () => (hub.followers() === 100 ? true : undefined), 'the followers')
  const before = reads
  await write(200)
  const wanted = (await table(from)).length
  for (const heard of all) await until(async () => (heard.ids.length === wanted ? true : undefined), 'all events')
  expect(reads - before).toBeLessThanOrEqual(2 * wanted)
  expect(new Set(all.map(({ ids }) => ids.join())).size).toBe(1)
  expect(all[0]?.ids).toEqual(await table(from))
})

test('a slow follower is cut off in bounded memory while the others go on, and comes back where it was', async () => {
  const from = (await table()).at(-1) ?? 0
  const slow = await connect(from)
  slow.pause()
  const quick = await listen(from)
  await until(async () => (hub.followers() === 2 ? true : undefined), 'both')
  const sink = sinks.at(-2)
  // More than the system's own buffers on both sides take.
  for (let round = 0; round < 60 && hub.followers() === 2; round += 1) await write(20, null, 50_000)
  await until(async () => (hub.followers() === 1 ? true : undefined), 'the cut')
  expect(sink?.closed()).toBe(true)
  await hears(quick, await table(from))
  const got: number[] = []
  const drain = async (): Promise<void> => {
    for await (const batch of readEventStream(slow)) got.push(...batch.map(({ seq }) => seq))
  }
  await drain().catch(() => undefined) // it was cut: what arrived whole counts
  const wanted = await table(from)
  expect(got).toEqual(wanted.slice(0, got.length))
  expect(got.length).toBeLessThan(wanted.length)
  const back = await listen(got.at(-1) ?? from)
  await hears(back, wanted.slice(got.length))
})

test('a follower that takes nothing while it catches up is cut off when its time is over, and not before', async () => {
  const from = (await table()).at(-1) ?? 0
  await write(200, null, 50_000)
  const stuck = await connect(from)
  stuck.pause()
  const sink = sinks.at(-1)
  const quick = await listen(from)
  await hears(quick, await table(from))
  now = 60_000
  // Two signs of life later it would have been cut, were it to be.
  const asked = quick.ids.length
  await write(1)
  await until(async () => (quick.ids.length > asked ? true : undefined), 'life')
  expect(sink?.closed()).toBe(false)
  // The kernel may have taken a little more for it meanwhile, from when its time counts.
  await until(async () => {
    now += 60_001
    return hub.followers() === 1 ? true : undefined
  }, 'the cut')
  expect(sink?.closed()).toBe(true)
})

test('an event that nobody told of is found by the poll', async () => {
  const from = (await table()).at(-1) ?? 0
  await hub.close()
  hub = createEventHub({ db, log, pollMs: 50, heartbeatMs: 3_600_000 })
  const heard = await listen(from)
  await until(async () => (hub.followers() === 1 ? true : undefined), 'the follower')
  // Past the wrapper that gives notice, as another process writes.
  await appendEvent(store, { type: 'run.phase', payload: {} })
  await hears(heard, await table(from))
  expect(heard.ids).toHaveLength(1)
})

test('followers that leave are forgotten, and with the last one the reading ends', async () => {
  const heard = await listen()
  await until(async () => (hub.followers() === 1 ? true : undefined), 'the follower')
  heard.stop()
  await until(async () => (hub.followers() === 0 ? true : undefined), 'its leaving')
  const before = reads
  await write(20)
  await db.query(sql`select 1`)
  expect(reads).toBe(before)
  const from = (await table()).at(-1) ?? 0
  const next = await listen(from)
  await write(5)
  await hears(next, await table(from))
})

test('the end of the engine delivers the last events and ends every stream', async () => {
  const from = (await table()).at(-1) ?? 0
  const all = [await listen(from), await listen(from)]
  const stuck = await connect(from)
  stuck.pause()
  await write(3)
  await hub.close()
  for (const heard of all) {
    await until(async () => (heard.ended() ? true : undefined), 'the end')
    expect(heard.ids).toEqual(await table(from))
  }
})
