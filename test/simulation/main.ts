/**
 * `npm run simulate -- --seed N [--seeds M] [--processes P] [--steps K] [--without e1,f2] [--planted name] [--verbose] [--keep]`: runs
 * seeds, in several processes side by side if asked, and says what was simulated. A seed that breaks a promise is made as small
 * as it gets, and the command that replays it is printed. Ends with status 1 then.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { mostSteps } from './run.ts'
import { startServer } from './server.ts'
import { runSeed, type SeedResult, type Wanted } from './seed.ts'
import { openSyncStore } from './sync-store.ts'

const usage =
  'npm run simulate -- --seed N [--seeds M] [--processes P] [--steps K] [--without e1,f2] [--planted name] [--verbose] [--keep]'

const read = () => {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        seeds: { type: 'string', default: '1' },
        processes: { type: 'string', default: '1' },
        steps: { type: 'string', default: String(mostSteps) },
        without: { type: 'string', default: '' },
        planted: { type: 'string' },
        verbose: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nusage: ${usage}\n`)
    return process.exit(2)
  }
}

const values = read()
for (const name of ['seed', 'seeds', 'processes', 'steps'] as const) {
  if (/^\d+$/.test(values[name]) && (name !== 'processes' || Number(values[name]) > 0)) continue
  process.stderr.write(
    `--${name} is a ${name === 'processes' ? 'positive ' : ''}number, not "${values[name]}"\nusage: ${usage}\n`,
  )
  process.exit(2)
}
if (values.help) {
  process.stdout.write(`usage: ${usage}\n`)
  process.exit(0)
}

const wanted: Wanted = {
  steps: Number(values.steps),
  without: values.without.split(',').filter((name) => name !== ''),
  planted: values.planted,
  verbose: values.verbose,
  keep: values.keep,
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** In seeds: nothing takes long without a word. */
const progressEach = 20

const createTotal = () => {
  const begun = performance.now()
  const total = { seeds: 0, failed: 0, transitions: 0, steps: 0, virtualMs: 0 }
  const faults: Record<string, number> = {}
  const ends: Record<string, number> = {}
  const met: Record<string, number> = {}
  let longest = { seed: 0, events: 0 }
  const add = (to: Record<string, number>, counts: Record<string, number>): void => {
    for (const [name, count] of Object.entries(counts)) to[name] = (to[name] ?? 0) + count
  }
  return {
    failed: () => total.failed,
    add: (result: SeedResult): void => {
      total.seeds += 1
      total.failed += result.broken.length > 0 ? 1 : 0
      for (const key of ['transitions', 'steps', 'virtualMs'] as const) total[key] += result[key]
      if (result.steps > longest.events) longest = { seed: result.seed, events: result.steps }
      add(faults, result.faults)
      add(ends, result.ends)
      add(met, result.met)
      for (const line of result.broken) say(line)
      if (total.seeds % progressEach === 0) say(`${total.seeds} seeds so far, ${total.failed} of them broke a promise`)
    },
    report: (): void => {
      const { seeds, failed, transitions, steps, virtualMs } = total
      const seconds = (performance.now() - begun) / 1000
      const inOrder = (counts: Record<string, number>): object =>
        Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1)))
      say(
        JSON.stringify({
          ...{ seeds, failed, transitions, events: steps, virtualHours: Math.round(virtualMs / 36_000) / 100 },
          ...{
            faults: inOrder(faults),
            goals: inOrder(ends),
            met: inOrder(met),
            seconds: Math.round(seconds * 10) / 10,
          },
          longest,
          transitionsPerSecond: Math.round(transitions / seconds),
        }),
      )
    },
  }
}

const total = createTotal()
/** The next seed; undefined = none is left, or one has broken a promise. */
const createSeeds = () => {
  let next = Number(values.seed)
  const end = next + Number(values.seeds)
  return (): number | undefined => {
    if (next === end || (total.failed() > 0 && !wanted.keep)) return undefined
    next += 1
    return next - 1
  }
}
const nextSeed = createSeeds()

const runHere = async (socket: string): Promise<void> => {
  const store = await openSyncStore(socket)
  for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) total.add(await runSeed(seed, store, wanted))
  store.close()
}

/** A seed at work when another one breaks a promise still comes to its end, so both are told. */
const runElsewhere = async (socket: string): Promise<void> => {
  const child = fork(`${import.meta.dirname}/seed-process.ts`, [socket])
  const ended = once(child, 'exit').then(([status, signal]) => {
    throw new Error(`a process of the simulation ended: ${signal ?? `exit status ${status}`}`)
  })
  // Only a process that ends before its last seed is an error.
  ended.catch(() => undefined)
  for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) {
    child.send({ seed, wanted })
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [SeedResult]
    total.add(result)
  }
  child.kill()
}

const processes = Math.min(Number(values.processes), Math.max(1, Number(values.seeds)))
const server = await startServer()
// Otherwise the server would stay until the next run sweeps it.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void server.clear().finally(() => process.exit(1)))
try {
  const { socket } = server
  await (processes === 1 ? runHere(socket) : Promise.all(Array.from({ length: processes }, () => runElsewhere(socket))))
} finally {
  await server.clear()
}
total.report()
process.exitCode = total.failed() === 0 ? 0 : 1
