/** One seed as the command line asks for it, and what is to be said about it. Its result can be sent from one process to another. */
import type { SyncStore } from './sync-store.ts'
import { makePlan, without } from './plan.ts'
import { planted } from './planted.ts'
import { runPlan, type Outcome } from './run.ts'
import { shrink } from './shrink.ts'
import { noHooks, type Hooks } from './world.ts'

export interface Wanted {
  steps: number
  /** Names of the parts of the plan that are left out. */
  without: string[]
  planted: string | undefined
  verbose: boolean
  /** Goes on after a seed that breaks a promise, instead of making it as small as it gets. */
  keep: boolean
}

export interface SeedResult {
  seed: number
  transitions: number
  steps: number
  virtualMs: number
  faults: Record<string, number>
  met: Record<string, number>
  ends: Record<string, number>
  /** Empty = it kept its promises. */
  broken: string[]
}

const hooksOf = (name: string | undefined): Hooks => {
  if (name === undefined) return noHooks
  const bug = planted.find((candidate) => candidate.name === name)
  if (bug === undefined)
    throw new Error(`no planted bug "${name}"; there are: ${planted.map((known) => known.name).join(', ')}`)
  return bug.hooks()
}

/** Makes the seed as small as it gets. */
const report = async (seed: number, store: SyncStore, outcome: Outcome, wanted: Wanted): Promise<string[]> => {
  const small = await shrink(
    {
      ...{ seed: String(seed), start: new Set(wanted.without), hooks: () => hooksOf(wanted.planted) },
      steps: wanted.steps,
    },
    store,
  )
  const bug = wanted.planted === undefined ? '' : ` --planted ${wanted.planted}`
  return [
    `seed ${seed} breaks a promise at step ${outcome.steps}`,
    `  ${outcome.violation?.promise}: ${outcome.violation?.text}`,
    `  last events of the smallest case (${small.runs} runs to find it):`,
    ...small.outcome.recent.slice(-60).map((line) => `    ${line.slice(0, 300)}`),
    `  ${small.outcome.violation?.promise}: ${small.outcome.violation?.text}`,
    `replay: npm run simulate -- --seed ${seed}${bug} --without ${[...small.without].join(',')} --verbose`,
  ]
}

export const runSeed = async (seed: number, store: SyncStore, wanted: Wanted): Promise<SeedResult> => {
  const outcome = await runPlan(without(makePlan(String(seed)), new Set(wanted.without)), store, {
    hooks: hooksOf(wanted.planted),
    steps: wanted.steps,
    ...(wanted.verbose ? { each: (line: string) => void process.stdout.write(`${line}\n`) } : {}),
  })
  const { transitions, steps, virtualMs, ends, violation } = outcome
  const result = {
    seed,
    transitions,
    steps,
    virtualMs,
    faults: Object.fromEntries(outcome.faults),
    ends,
    met: Object.fromEntries(outcome.met),
  }
  if (violation === undefined) return { ...result, broken: [] }
  const short = `seed ${seed}: ${violation.promise}: ${violation.text.split('\n').slice(0, 4).join(' | ')}`
  if (wanted.keep) return { ...result, broken: [short] }
  // Said at once: to make it smaller takes minutes.
  process.stdout.write(`${short}\n  it is made smaller now\n`)
  return { ...result, broken: await report(seed, store, outcome, wanted) }
}
