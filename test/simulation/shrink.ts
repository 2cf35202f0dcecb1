/** Makes a failing seed smaller: takes parts away, halves first and then one by one, as long as the same promise breaks. */
import { makePlan, planParts, without } from './plan.ts'
import type { SyncStore } from './sync-store.ts'
import { runPlan, type Outcome } from './run.ts'
import type { Hooks } from './world.ts'

export interface ShrinkRequest {
  seed: string
  start: ReadonlySet<string>
  hooks: () => Hooks
  steps: number
  /** Most runs to spend. */
  most?: number
  /** Most events of the scheduler to spend in all of them: a seed in which nothing comes to an end takes many for each run. */
  mostSteps?: number
}

export interface Smallest {
  without: Set<string>
  outcome: Outcome
  runs: number
}

export const shrink = async (request: ShrinkRequest, store: SyncStore): Promise<Smallest> => {
  const plan = makePlan(request.seed)
  const { most = 150, mostSteps = 1_000_000 } = request
  let runs = 0
  let spent = 0
  const attempt = async (names: Set<string>): Promise<Outcome> => {
    runs += 1
    const outcome = await runPlan(without(plan, names), store, { hooks: request.hooks(), steps: request.steps })
    spent += outcome.steps
    return outcome
  }
  const isSpent = (): boolean => runs >= most || spent >= mostSteps
  let best = new Set(request.start)
  let outcome = await attempt(best)
  const promise = outcome.violation?.promise
  const drop = async (parts: string[]): Promise<boolean> => {
    const names = new Set([...best, ...parts])
    const next = await attempt(names)
    if (next.violation === undefined || next.violation.promise !== promise) return false
    best = names
    outcome = next
    return true
  }
  const left = (): string[] => planParts(without(plan, best))
  for (let size = Math.ceil(left().length / 2); size >= 1 && !isSpent(); size = size === 1 ? 0 : Math.ceil(size / 2)) {
    const parts = left()
    for (let at = 0; at < parts.length && !isSpent(); at += size) await drop(parts.slice(at, at + size))
  }
  return { without: best, outcome, runs }
}
