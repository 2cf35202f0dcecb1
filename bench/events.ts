/**
 * 1,000 clients read the event stream of one engine while another process writes 100 events a second into its PostgreSQL.
 * Measures the time from an event's row to each client, and the memory of the engine. CLIENTS, RATE and SECONDS in the
 * environment change these numbers. Linux only: memory is read from /proc.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stateDirOf } from '../src/api/state-dir.ts'
import { appendEvent } from '../src/store/event.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { configuredDatabase } from '../src/store/postgres-location.ts'
import { openRepository } from '../src/workspace/repository.ts'
import { startServer } from '../test/postgres/server.ts'
import { median, printResult } from './measure.ts'

const clients = Number(process.env.CLIENTS ?? 1000)
const rate = Number(process.env.RATE ?? 100)
const seconds = Number(process.env.SECONDS ?? 20)
const warmUpEvents = rate

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-events-'))
const repo = join(folder, 'repo')
execFileSync('git', ['init', '-q', repo])
const server = await startServer()
const env = {
  ...process.env,
  UNSTUCK_HOME: join(folder, 'home'),
  XDG_CACHE_HOME: join(folder, 'cache'),
  UNSTUCK_DATABASE_URL: server.url,
}
const { id } = await openRepository(repo)
const place = configuredDatabase(env, id)
if (place === undefined) throw new Error('the PostgreSQL server could not create a database for the store')

const up = spawn(process.execPath, [entry, 'up'], { cwd: repo, env, stdio: ['ignore', 'pipe', 'inherit'] })
await once(up.stdout, 'data')
const stateDir = stateDirOf(env, id)
const { url, identity } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as {
  url: string
  identity: { pid: number }
}
const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()

const memoryMb = (): number => {
  const pages = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${identity.pid}/status`, 'utf8'))?.[1]
  return Number(pages) / 1024
}

const lags: number[] = []
const perClient = Array.from({ length: clients }, () => 0)
let broken = 0
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })

const follow = (index: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'last-event-id': '0' }
    const request = get(`${url}/events`, { agent, headers }, (response) => {
      response.setEncoding('utf8')
      let rest = ''
      response.on('data', (chunk: string) => {
        const now = Date.now()
        const blocks = (rest + chunk).split('\n\n')
        rest = blocks.pop() ?? ''
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block)?.[1]
          if (data === undefined) continue
          const event = JSON.parse(data) as { type: string; at: string }
          if (event.type !== 'bench.tick') continue
          const seen = (perClient[index] ?? 0) + 1
          perClient[index] = seen
          if (seen > warmUpEvents) lags.push(now - Date.parse(event.at))
        }
      })
      response.on('close', () => (broken += 1))
      resolve()
    })
    request.on('error', reject)
  })

const memoryAlone = memoryMb()
for (let begun = 0; begun < clients; begun += 50)
  await Promise.all(Array.from({ length: Math.min(50, clients - begun) }, (_value, more) => follow(begun + more)))
const memoryConnected = memoryMb()

const db = await openPostgres({ location: place })
const total = rate * seconds + warmUpEvents
const begun = performance.now()
let memoryPeak = memoryConnected
for (let written = 0; written < total; written += 1) {
  const due = begun + (written * 1000) / rate
  const wait = due - performance.now()
  if (wait > 0) await delay(wait)
  await appendEvent(db, { type: 'bench.tick', payload: { number: written, text: 'x'.repeat(200) } })
  if (written % rate === 0) memoryPeak = Math.max(memoryPeak, memoryMb())
}
const writtenPerSecond = (total * 1000) / (performance.now() - begun)
const deadline = performance.now() + 60_000
while (perClient.some((seen) => seen < total) && performance.now() < deadline) await delay(50)

const sorted = lags.toSorted((one, other) => one - other)
const quantile = (part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
printResult('events', {
  clients,
  writtenPerSecond,
  delivered: perClient.reduce((sum, seen) => sum + seen, 0),
  missing: perClient.reduce((sum, seen) => sum + total - seen, 0),
  broken,
  lagP50Ms: median(lags),
  lagP99Ms: quantile(0.99),
  lagMaxMs: quantile(1),
  memoryAloneMb: memoryAlone,
  memoryConnectedMb: memoryConnected,
  memoryPeakMb: memoryPeak,
  kbPerClient: ((memoryPeak - memoryAlone) * 1024) / clients,
})

agent.destroy()
await db.close()
up.kill('SIGTERM')
await once(up, 'exit')
await server.clear()
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
process.exit(0)
