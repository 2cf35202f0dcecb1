/**
 * `npm run simulate -- --seed N [--seeds M] [--steps K] [--without e1,f2] [--planted name] [--verbose]`: runs seeds and
 * says what was simulated. The first seed that breaks a promise is made as small as it gets, and the command that replays it
 * is printed. Ends with status 1 then.
 */
import { parseArgs } from 'node:util'
import { openSyncStore, type SyncStore } from './pglite-sync.ts'
import { makePlan, without } from './plan.ts'
import { planted } from './planted.ts'
import { runPlan, type Outcome } from './run.ts'
import { shrink } from './shrink.ts'
import { noHooks, type Hooks } from './world.ts'

const usage =
  'npm run simulate -- --seed N [--seeds M] [--steps K] [--without e1,f2] [--planted name] [--verbose] [--keep]'

const read = () => {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        seeds: { type: 'string', default: '1' },
        steps: { type: 'string', default: '400000' },
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
for (const name of ['seed', 'seeds', 'steps'] as const) {
  if (/^\d+$/.test(values[name])) continue
  process.stderr.write(`--${name} is a number, not "${values[name]}"\nusage: ${usage}\n`)
  process.exit(2)
}
if (values.help) {
  process.stdout.write(`usage: ${usage}\n`)
  process.exit(0)
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const hooksOf = (name: string | undefined): Hooks => {
  if (name === undefined) return noHooks
  const bug = planted.find((candidate) => candidate.name === name)
  if (bug === undefined)
    throw new Error(`no planted bug "${name}"; there are: ${planted.map((known) => known.name).join(', ')}`)
  return bug.hooks()
}

const names = new Set(values.without.split(',').filter((name) => name !== ''))

const runSeed = (seed: number, store: SyncStore): Promise<Outcome> =>
  runPlan(without(makePlan(String(seed)), names), store, {
    hooks: hooksOf(values.planted),
    steps: Number(values.steps),
    ...(values.verbose ? { each: say } : {}),
  })

const report = async (seed: number, store: SyncStore, outcome: Outcome): Promise<void> => {
  say(`seed ${seed} breaks a promise at step ${outcome.steps}`)
  say(`  ${outcome.violation?.promise}: ${outcome.violation?.text}`)
  const small = await shrink(
    { seed: String(seed), start: names, hooks: () => hooksOf(values.planted), steps: Number(values.steps) },
    store,
  )
  say(`  last events of the smallest case (${small.runs} runs to find it):`)
  for (const line of small.outcome.recent.slice(-60)) say(`    ${line.slice(0, 300)}`)
  say(`  ${small.outcome.violation?.promise}: ${small.outcome.violation?.text}`)
  const bug = values.planted === undefined ? '' : ` --planted ${values.planted}`
  say(`replay: npm run simulate -- --seed ${seed}${bug} --without ${[...small.without].join(',')} --verbose`)
}

const main = async (): Promise<number> => {
  const begun = performance.now()
  const store = await openSyncStore()
  const total = { seeds: 0, transitions: 0, steps: 0, virtualMs: 0 }
  const faults = new Map<string, number>()
  const ends: Record<string, number> = {}
  let failed = 0
  for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed += 1) {
    const outcome = await runSeed(seed, store)
    total.seeds += 1
    total.transitions += outcome.transitions
    total.steps += outcome.steps
    total.virtualMs += outcome.virtualMs
    for (const [kind, count] of outcome.faults) faults.set(kind, (faults.get(kind) ?? 0) + count)
    for (const [state, count] of Object.entries(outcome.ends)) ends[state] = (ends[state] ?? 0) + count
    if (outcome.violation === undefined) continue
    failed += 1
    if (values.keep)
      say(`seed ${seed}: ${outcome.violation.promise}: ${outcome.violation.text.split('\n').slice(0, 4).join(' | ')}`)
    else {
      await report(seed, store, outcome)
      break
    }
  }
  await store.close()
  const seconds = (performance.now() - begun) / 1000
  say(
    JSON.stringify({
      ...{ seeds: total.seeds, failed, transitions: total.transitions, events: total.steps },
      ...{
        virtualHours: Math.round(total.virtualMs / 36_000) / 100,
        faults: Object.fromEntries([...faults].sort(([a], [b]) => (a < b ? -1 : 1))),
        goals: ends,
      },
      ...{ seconds: Math.round(seconds * 10) / 10, transitionsPerSecond: Math.round(total.transitions / seconds) },
    }),
  )
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
