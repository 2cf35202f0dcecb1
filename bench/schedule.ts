/**
 * Measures the queue on one PostgreSQL server of its own (without fsync): jobs that are claimed and ended per second, the rows and
 * the bytes of log that each of them writes, and rows per second, compared with graphile-worker and pg-boss; the latency of a claim
 * with 1,000 and 100,000 queued tasks; the cost of a pass of the engine with 1,000 and 100,000 tasks that ended and nothing to do;
 * and the time from a task's row to the open gate of its shim in an engine with 100 idle agents. The jobs of graphile-worker and
 * pg-boss are rows that are taken and completed one by one; the jobs of Unstuck are tasks with runs, leases and events.
 * JOBS, ROUNDS, CLAIMERS and STARTS in the environment change the numbers.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sendTo } from '../src/cli/engine/send-over-socket.ts'
import type { Goal, EventView } from '../src/api/contract.ts'
import { stateDirOf } from '../src/api/state-dir.ts'
import { claimTask, type Claim } from '../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { parseDatabaseUrl } from '../src/store/postgres-location.ts'
import { finishRun } from '../src/store/run.ts'
import { getTask, moveTask } from '../src/store/task.ts'
import { openRepository } from '../src/workspace/repository.ts'
import { startServer } from '../test/support/server.ts'
import { activeGoal, agents } from '../test/store/scene.ts'
import { median, printResult } from './measure.ts'
import { claimers, jobs, otherQueues, ratesOf, sideBySide, timed, type Rates } from './queues.ts'
import { openTicks, type Tick } from './tick.ts'

const starts = Number(process.env.STARTS ?? 100)

const quantile = (values: number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** So many tasks are made by one statement, which must not reach the store's time limit. */
const slice = 5_000

/** A goal with `count` queued tasks. One is created normally; statements copy it, because creating 100,000 would take too long. */
const fill = async (db: Db, count: number): Promise<void> => {
  await activeGoal(db, 'g', [{ id: 'seed' }])
  for (let from = 2; from <= count; from += slice) {
    const to = Math.min(from + slice - 1, count)
    await db.query(sql`insert into task select (jsonb_populate_record(seed,
        jsonb_build_object('id', 't' || copy, 'number', copy))).*
      from task seed, generate_series(${from}::int, ${to}::int) as copies (copy) where seed.id = 'seed'`)
  }
  await db.query(sql`analyze task`)
}

const openOurs = async (url: string, id: string, mayLead = false): Promise<Db> => {
  const db = await openPostgres({ location: parseDatabaseUrl(url, `bench-${id.padStart(12, '0')}`), mayLead })
  await migrate(db)
  return db
}

const claimOne = (db: Db, agentId: string, runId: string): Promise<Claim | undefined> =>
  db.transaction((tx) => claimTask(tx, { agentId, runId, ttlSeconds: 300 }))

const endOne = (db: Db, claim: Claim): Promise<void> =>
  db.transaction(async (tx) => {
    const [ended, task] = await Promise.all([finishRun(tx, claim.run, 'succeeded', null), getTask(tx, claim.task.id)])
    mustSucceed(ended)
    if (task !== undefined) mustSucceed(await moveTask(tx, task, 'run_succeeded'))
  })

/** Each round has a schema of its own. */
const schemaOf = (round: number): string => `a${round}`

const fillOurs = async (url: string, round: number): Promise<void> => {
  const db = await openOurs(url, schemaOf(round))
  await agents(db, ...Array.from({ length: claimers }, (_value, index) => `a${index}`))
  await fill(db, jobs)
  await db.close()
}

const ours = async (url: string, round: number): Promise<number> => {
  const db = await openOurs(url, schemaOf(round))
  let done = 0
  const seconds = await timed(() =>
    sideBySide(claimers, async (index) => {
      for (let turn = 0; ; turn += 1) {
        const claim = await claimOne(db, `a${index}`, `r${index}-${turn}`)
        if (claim === undefined) return
        await endOne(db, claim)
        done += 1
      }
    }),
  )
  await db.close()
  if (done !== jobs) throw new Error(`${done} of ${jobs} tasks were claimed`)
  return seconds
}

const latencies = async (url: string, queued: number): Promise<number[]> => {
  const db = await openOurs(url, queued.toString(16))
  await agents(db, 'a')
  await fill(db, queued)
  const found: number[] = []
  for (let turn = 0; turn < 300; turn += 1) {
    const begun = performance.now()
    const claim = await claimOne(db, 'a', `r${turn}`)
    found.push(performance.now() - begun)
    if (claim === undefined) throw new Error('the queue is empty')
    await endOne(db, claim)
  }
  await db.close()
  return found.slice(50)
}

const ticksPerStore = 100

/** The medians of passes with nothing to do, on two stores by turns, so that a slow moment of the machine affects both. */
const idlePasses = async (url: string, few: number, many: number): Promise<[Tick, Tick]> => {
  const open = async (ended: number) => {
    const db = await openOurs(url, `f${ended.toString(16)}`, true)
    return { db, ticks: await openTicks(db, ended), found: [] as Tick[] }
  }
  const stores = [await open(few), await open(many)] as const
  for (let turn = 0; turn < ticksPerStore + 5; turn += 1)
    for (const { ticks, found } of stores) found.push(await ticks.tick())
  const of = ({ found }: { found: Tick[] }): Tick => {
    const middle = (key: keyof Tick): number => median(found.slice(5).map((tick) => tick[key]))
    return { ms: middle('ms'), storeMs: middle('storeMs'), statements: middle('statements') }
  }
  for (const { ticks, db } of stores) {
    await ticks.stop()
    await db.close()
  }
  return [of(stores[0]), of(stores[1])]
}

interface Engine {
  ask<T>(path: string, body?: string): Promise<T>
  stop(): Promise<void>
}

/** An engine with 100 agents, each a shell that writes one file. */
const startEngine = async (url: string): Promise<Engine> => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-schedule-'))
  const repo = join(folder, 'repo')
  const places = { UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }
  const env = { ...process.env, ...places, UNSTUCK_DATABASE_URL: url }
  mkdirSync(join(repo, '.unstuck'), { recursive: true })
  const command = ['/bin/sh', '-c', 'echo "$UNSTUCK_RUN_DIR" > note.txt']
  const config = { maxParallel: 100, harness: { default: 'bench', bench: { command } }, verify: { commands: ['true'] } }
  writeFileSync(join(repo, '.unstuck', 'config.json'), JSON.stringify(config))
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', ...args], { cwd: repo })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-q', '-m', 'base')
  const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
  const up = spawn(process.execPath, [entry, 'up'], { cwd: repo, env, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(up.stdout, 'data')
  const stateDir = stateDirOf(env, (await openRepository(repo)).id)
  const { url: engine, socket } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as {
    url: string
    socket?: string
  }
  const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    ask: async <T>(path: string, body?: string) =>
      (await (
        await sendTo(socket)(`${engine}${path}`, { headers, ...(body === undefined ? {} : { method: 'POST', body }) })
      ).json()) as T,
    stop: async () => {
      up.kill('SIGTERM')
      await once(up, 'exit')
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

const goalBody = (repoMode: 'local' | 'direct'): string => {
  const paths = { allowedPaths: ['**'], deniedPaths: [] }
  const task = { id: '1', title: 'Note', instructions: 'Write a note.', ...paths, commands: [], after: [] }
  const tasks = [{ ...task, priority: 0, role: 'worker' }]
  return JSON.stringify({
    input: { title: 'Note', requirement: 'Write a note.', tasks, allowedDirs: [], warnings: [] },
    options: { autoMerge: false, repoMode, allowedDirs: [], harness: null, limits: {} },
  })
}

const ended = /^goal\.(ready|done|awaiting_human|paused|failed)$/

/** Posts one goal and waits for its end, so that the rest of its run does not slow down the next start. */
const startOne = async (engine: Engine, body: string): Promise<number> => {
  const goal = await engine.ask<Goal>('/goals', body)
  for (;;) {
    const events = await engine.ask<EventView[]>(`/events?goal=${goal.id}&limit=100`)
    const at = (wanted: (event: EventView) => boolean): number =>
      Date.parse(events.find((event) => wanted(event))?.at ?? '')
    if (events.some(({ type }) => ended.test(type)))
      return (
        at(({ type, payload }) => type === 'run.phase' && payload.to === 'supervise') -
        at(({ type }) => type === 'task.created')
      )
    await delay(50)
  }
}

/** From the task's row to the open gate of its shim by the store's clock, one task at a time, with all agents idle. */
const startTimes = async (engine: Engine, repoMode: 'local' | 'direct'): Promise<number[]> => {
  const found: number[] = []
  for (let turn = 0; turn < starts + 5; turn += 1) found.push(await startOne(engine, goalBody(repoMode)))
  return found.slice(5)
}

const ratesAs = (name: string, { perSecond, rowsPerJob, walBytesPerJob }: Rates): Record<string, number> => ({
  [`${name}PerSecond`]: perSecond,
  [`${name}RowsPerJob`]: rowsPerJob,
  [`${name}RowsPerSecond`]: perSecond * rowsPerJob,
  [`${name}WalBytesPerJob`]: walBytesPerJob,
})

const server = await startServer()
const rates = await ratesOf(server.url, {
  unstuck: { fill: (round) => fillOurs(server.url, round), empty: (round) => ours(server.url, round) },
  ...otherQueues(server.url),
})
const few = await latencies(server.url, 1000)
const many = await latencies(server.url, 100_000)
const [fewEnded, manyEnded] = await idlePasses(server.url, 1000, 100_000)
const engine = await startEngine(server.url)
const local = await startTimes(engine, 'local')
const direct = await startTimes(engine, 'direct')
await engine.stop()
printResult('schedule', {
  jobs,
  claimers,
  ...ratesAs('unstuck', rates.unstuck),
  ...ratesAs('pgBoss', rates.pgBoss),
  ...ratesAs('graphile', rates.graphile),
  ofPgBoss: rates.unstuck.perSecond / rates.pgBoss.perSecond,
  ofGraphile: rates.unstuck.perSecond / rates.graphile.perSecond,
  claimP50MsAt1k: median(few),
  claimP99MsAt1k: quantile(few, 0.99),
  claimP50MsAt100k: median(many),
  claimP99MsAt100k: quantile(many, 0.99),
  tickMsAt1k: fewEnded.ms,
  tickMsAt100k: manyEnded.ms,
  tickStoreMsAt1k: fewEnded.storeMs,
  tickStoreMsAt100k: manyEnded.storeMs,
  tickStatements: manyEnded.statements,
  tickOf100kTo1k: manyEnded.storeMs / fewEnded.storeMs,
  targetTickOf100kTo1k: 1.5,
  startP50Ms: median(local),
  startP99Ms: quantile(local, 0.99),
  directStartP50Ms: median(direct),
  directStartP99Ms: quantile(direct, 0.99),
  targetStartP99Ms: 150,
})
await server.clear()
process.exit(0)
