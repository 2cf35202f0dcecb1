/**
 * Rates of queues on one PostgreSQL server: how many jobs each takes and ends per second, and what it writes for each. Here are
 * graphile-worker and pg-boss, which are installed into the cache folder.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { median } from './measure.ts'
import { writtenBy } from './written.ts'

export const jobs = Number(process.env.JOBS ?? 2000)
export const claimers = Number(process.env.CLAIMERS ?? 8)
const rounds = Number(process.env.ROUNDS ?? 3)
const versions = { 'graphile-worker': '0.18.0', 'pg-boss': '12.35.0' }

const others = (): string => {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const place = join(cache, 'unstuck-ci', `queues-${Object.values(versions).join('-')}`)
  if (existsSync(join(place, 'complete'))) return place
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies: versions }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: place,
    stdio: ['ignore', 2, 2],
  })
  writeFileSync(join(place, 'complete'), '')
  return place
}

/** Loosely typed, because neither package is a dependency of this project. */
const load = async (place: string, name: keyof typeof versions): Promise<Record<string, never>> =>
  (await import(pathToFileURL(createRequire(join(place, 'package.json')).resolve(name)).href)) as Record<string, never>

export const timed = async (work: () => Promise<void>): Promise<number> => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

export const sideBySide = async (count: number, work: (index: number) => Promise<void>): Promise<void> => {
  await Promise.all(Array.from({ length: count }, (_value, index) => work(index)))
}

export interface Rates {
  perSecond: number
  rowsPerJob: number
  walBytesPerJob: number
}

interface Queue {
  fill(round: number): Promise<void>
  /** Takes and ends all jobs. Returns the seconds without its start and its end. */
  empty(round: number): Promise<number>
}

/** Fills and empties the queues by turns, so that a slow moment of the machine affects all of them. */
export const ratesOf = async <Name extends string>(
  url: string,
  queues: Record<Name, Queue>,
): Promise<Record<Name, Rates>> => {
  const names = Object.keys(queues) as Name[]
  const found = Object.fromEntries(names.map((name) => [name, [] as Rates[]])) as Record<Name, Rates[]>
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      await queues[name].fill(round)
      const { result: seconds, written } = await writtenBy(url, () => queues[name].empty(round))
      found[name].push({
        perSecond: jobs / seconds,
        rowsPerJob: written.rows / jobs,
        walBytesPerJob: written.walBytes / jobs,
      })
    }
  }
  const of = (rates: Rates[]): Rates => {
    const middle = (key: keyof Rates): number => median(rates.map((rate) => rate[key]))
    return {
      perSecond: middle('perSecond'),
      rowsPerJob: middle('rowsPerJob'),
      walBytesPerJob: middle('walBytesPerJob'),
    }
  }
  return Object.fromEntries(names.map((name) => [name, of(found[name])])) as Record<Name, Rates>
}

interface Boss {
  start(): Promise<void>
  stop(options: { graceful: boolean }): Promise<void>
  createQueue(name: string): Promise<void>
  insert(name: string, jobs: { data: object }[]): Promise<unknown>
  fetch(name: string): Promise<{ id: string }[]>
  complete(name: string, id: string): Promise<unknown>
}

const startBoss = async (url: string, place: string): Promise<Boss> => {
  const { PgBoss } = (await load(place, 'pg-boss')) as unknown as { PgBoss: new (options: object) => Boss }
  const boss = new PgBoss({ connectionString: url, max: claimers, supervise: false, schedule: false })
  await boss.start()
  return boss
}

const fillBoss = async (url: string, place: string): Promise<void> => {
  const boss = await startBoss(url, place)
  await boss.createQueue('bench')
  await boss.insert(
    'bench',
    Array.from({ length: jobs }, (_value, number) => ({ data: { number } })),
  )
  await boss.stop({ graceful: false })
}

const pgBoss = async (url: string, place: string): Promise<number> => {
  const boss = await startBoss(url, place)
  let done = 0
  const seconds = await timed(() =>
    sideBySide(claimers, async () => {
      for (;;) {
        const [job] = await boss.fetch('bench')
        if (job === undefined) return
        await boss.complete('bench', job.id)
        done += 1
      }
    }),
  )
  await boss.stop({ graceful: false })
  if (done !== jobs) throw new Error(`pg-boss ended ${done} of ${jobs} jobs`)
  return seconds
}

interface Graphile {
  run(options: object): Promise<{ stop(): Promise<void> }>
  runMigrations(options: object): Promise<void>
  Logger: new (factory: () => () => void) => object
}

const loadGraphile = async (place: string): Promise<Pick<Graphile, 'run' | 'runMigrations'> & { logger: object }> => {
  const { run, runMigrations, Logger } = (await load(place, 'graphile-worker')) as unknown as Graphile
  return { run, runMigrations, logger: new Logger(() => () => undefined) }
}

const fillGraphile = async (url: string, place: string): Promise<void> => {
  const { runMigrations, logger } = await loadGraphile(place)
  await runMigrations({ connectionString: url, logger })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `select graphile_worker.add_job('bench', json_build_object('number', n)) from generate_series(1, ${jobs}) n`,
  )
  await client.end()
}

const graphile = async (url: string, place: string): Promise<number> => {
  const { run, logger } = await loadGraphile(place)
  let done = 0
  let ended = (): void => undefined
  const all = new Promise<void>((resolve) => (ended = resolve))
  const taskList = {
    bench: async () => {
      done += 1
      if (done === jobs) ended()
    },
  }
  let runner: { stop(): Promise<void> } | undefined
  const seconds = await timed(async () => {
    runner = await run({ connectionString: url, concurrency: claimers, taskList, logger, noHandleSignals: true })
    await all
  })
  await runner?.stop()
  return seconds
}

export const otherQueues = (url: string): { pgBoss: Queue; graphile: Queue } => {
  const place = others()
  return {
    pgBoss: { fill: () => fillBoss(url, place), empty: () => pgBoss(url, place) },
    graphile: { fill: () => fillGraphile(url, place), empty: () => graphile(url, place) },
  }
}
