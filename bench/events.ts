/**
 * Clients read the event stream of one engine while another process writes 100 events a second into its PostgreSQL. Measures the time
 * from an event's row to each client, and the memory of the engine. An engine lets programs of its owner have 256 streams; the first case
 * is at that limit and looks for the refusal of one more, the second is 1,000 clients with a raised limit. CLIENTS, RATE and SECONDS in
 * the environment change these numbers. Linux only: memory is read from /proc.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { mostStreams } from '../src/api/limits.ts'
import { stateDirOf } from '../src/api/state-dir.ts'
import { appendEvent } from '../src/store/event.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { configuredDatabase, type DatabaseLocation } from '../src/store/postgres-location.ts'
import { openRepository } from '../src/workspace/repository.ts'
import { startServer } from '../test/support/server.ts'
import { median, printResult } from './measure.ts'

const manyClients = Number(process.env.CLIENTS ?? 1000)
const rate = Number(process.env.RATE ?? 100)
const seconds = Number(process.env.SECONDS ?? 20)
const warmUpEvents = rate
const total = rate * seconds + warmUpEvents

interface Engine {
  place: DatabaseLocation
  memoryMb(): number
  /** Begins to read the stream; `seen` gets each event that is to be measured, with the lag of its client. */
  follow(seen: (lag: number) => void, ended: () => void): Promise<number>
  stop(): Promise<void>
}

/** Calls `tick` with the time of each event of the measurement. */
const readTicks = (response: IncomingMessage, tick: (at: number) => void): void => {
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      const event = data === undefined ? undefined : (JSON.parse(data) as { type: string; at: string })
      if (event?.type === 'bench.tick') tick(Date.parse(event.at))
    }
  })
}

const startEngine = async (database: string, streams: number): Promise<Engine> => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-events-'))
  const repo = join(folder, 'repo')
  execFileSync('git', ['init', '-q', repo])
  const places = { UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }
  const env = { ...process.env, ...places, UNSTUCK_DATABASE_URL: database }
  const { id } = await openRepository(repo)
  const place = configuredDatabase(env, id)
  if (place === undefined) throw new Error('the PostgreSQL server could not create a database for the store')
  const argv = [join(import.meta.dirname, 'events-engine.ts'), String(streams)]
  const engine = spawn(process.execPath, argv, { cwd: repo, env, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(engine.stdout, 'data')
  const stateDir = stateDirOf(env, id)
  const { url } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { url: string }
  const authorization = `Bearer ${readFileSync(join(stateDir, 'token'), 'utf8').trim()}`
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const headers = { authorization, accept: 'text/event-stream', 'last-event-id': '0' }
  return {
    place,
    memoryMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${engine.pid}/status`, 'utf8'))?.[1]) / 1024,
    follow: (seen, ended) =>
      new Promise((resolve, reject) => {
        const request = get(`${url}/events`, { agent, headers }, (response) => {
          readTicks(response, (at) => seen(Date.now() - at))
          response.on('close', ended)
          resolve(response.statusCode ?? 0)
        })
        request.on('error', reject)
      }),
    stop: async () => {
      agent.destroy()
      engine.kill('SIGTERM')
      await once(engine, 'exit')
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

interface Delivery {
  lags: number[]
  perClient: number[]
  broken: number
}

const connect = async (engine: Engine, clients: number): Promise<Delivery> => {
  const delivery: Delivery = { lags: [], perClient: Array.from({ length: clients }, () => 0), broken: 0 }
  const seenBy = (index: number) => (lag: number) => {
    const seen = (delivery.perClient[index] ?? 0) + 1
    delivery.perClient[index] = seen
    if (seen > warmUpEvents) delivery.lags.push(lag)
  }
  for (let begun = 0; begun < clients; begun += 50) {
    const more = Array.from({ length: Math.min(50, clients - begun) }, (_value, at) => begun + at)
    const follow = (index: number): Promise<number> => engine.follow(seenBy(index), () => (delivery.broken += 1))
    const statuses = await Promise.all(more.map(follow))
    if (statuses.some((status) => status !== 200)) throw new Error(`a stream was refused: ${statuses.join(' ')}`)
  }
  return delivery
}

/** Returns how many events were written per second, and the most memory that the engine had meanwhile. */
const write = async (engine: Engine): Promise<{ perSecond: number; memoryPeak: number }> => {
  const db = await openPostgres({ location: engine.place })
  const begun = performance.now()
  let memoryPeak = engine.memoryMb()
  for (let written = 0; written < total; written += 1) {
    const wait = begun + (written * 1000) / rate - performance.now()
    if (wait > 0) await delay(wait)
    await appendEvent(db, { type: 'bench.tick', payload: { number: written, text: 'x'.repeat(200) } })
    if (written % rate === 0) memoryPeak = Math.max(memoryPeak, engine.memoryMb())
  }
  const perSecond = (total * 1000) / (performance.now() - begun)
  await db.close()
  return { perSecond, memoryPeak }
}

const measure = async (name: string, database: string, clients: number, limit: number): Promise<void> => {
  const engine = await startEngine(database, limit)
  const memoryAlone = engine.memoryMb()
  const delivery = await connect(engine, clients)
  const memoryConnected = engine.memoryMb()
  const oneMore =
    clients === limit
      ? {
          statusOfOneMore: await engine.follow(
            () => undefined,
            () => undefined,
          ),
        }
      : {}
  const { perSecond, memoryPeak } = await write(engine)
  const { lags, perClient } = delivery
  const deadline = performance.now() + 60_000
  while (perClient.some((seen) => seen < total) && performance.now() < deadline) await delay(50)
  const sorted = lags.toSorted((one, other) => one - other)
  printResult(name, {
    clients,
    limit,
    ...oneMore,
    writtenPerSecond: perSecond,
    delivered: perClient.reduce((sum, seen) => sum + seen, 0),
    missing: perClient.reduce((sum, seen) => sum + total - seen, 0),
    broken: delivery.broken,
    lagP50Ms: median(lags),
    lagP99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    lagMaxMs: sorted.at(-1) ?? Number.NaN,
    memoryAloneMb: memoryAlone,
    memoryConnectedMb: memoryConnected,
    memoryPeakMb: memoryPeak,
    kbPerClient: ((memoryPeak - memoryAlone) * 1024) / clients,
  })
  await engine.stop()
}

const server = await startServer()
await measure('events', server.url, mostStreams.owner, mostStreams.owner)
await measure('events-many', server.url, manyClients, manyClients)
await server.clear()
process.exit(0)
