/** One seed from its first event to where nothing moves any more, or to the first promise that does not hold. */
import { taskEnded } from '../../src/domain/task.ts'
import { Killed } from './engine.ts'
import type { FaultKind, Plan } from './plan.ts'
import { checkoutQuestion } from './mirror.ts'
import { answerOne, cleanUp, giveGoal, happen } from './people.ts'
import { tables } from '../support/tables.ts'
import type { SyncStore } from './sync-store.ts'
import { createWorld, type Hooks, type BrokenInvariant, type World } from './world.ts'

export interface Outcome {
  violation: BrokenInvariant | undefined
  transitions: number
  steps: number
  virtualMs: number
  faults: ReadonlyMap<FaultKind, number>
  fingerprint: string
  met: ReadonlyMap<string, number>
  recent: string[]
  /** How the goals ended. */
  ends: Record<string, number>
}

export interface SimulationOptions {
  hooks?: Hooks
  /** More events of the scheduler than this are a livelock. */
  steps?: number
  each?: (line: string) => void
  /** Looks no further from where this holds. */
  isOver?: () => boolean
}

/** In events of the scheduler: some five times what the longest seeds take. */
export const mostSteps = 200_000

const ended = new Set(['ready', 'done', 'failed', 'cancelled'])
const waits = new Set(['paused', 'awaiting_human'])
/** After the last disturbance everything must be at rest within this. */
const patienceMs = 75 * 60 * 1000
/** Longer than the slowest call takes, whose effect is still to come. */
const quietMs = 25_000

/** Whether every goal has ended or waits for a person, and no run is at work. */
const atRest = (world: World): boolean => {
  if (world.current?.engine === undefined || !world.current.alive || world.current.stopping.signal.aborted) return false
  const { goal, task, escalation, run } = world.tables
  // Looked at after every event: loops make no lists.
  for (const { state } of goal.values()) if (!ended.has(state) && !waits.has(state)) return false
  for (const { state } of run.values()) if (state === 'running') return false
  // What a cancel that was cut short left over is taken up later.
  const over = (id: string): boolean => goal.get(id)?.state === 'cancelled'
  for (const { goalId, status } of task.values()) if (over(goalId) && !taskEnded(status)) return false
  for (const { goalId, kind, state } of escalation.values())
    if (over(goalId) && state === 'pending' && kind !== 'checkout_changed') return false
  return true
}

const complete = (world: World): boolean =>
  [...world.tables.goal.values()].every(({ state }) => ended.has(state)) && checkoutQuestion(world.tables) === undefined

const setOut = (world: World): number => {
  const { plan, scheduler } = world
  let last = 0
  for (const goal of plan.goals) {
    scheduler.after(goal.atMs, () => giveGoal(world, goal))
    last = Math.max(last, goal.atMs)
  }
  for (const event of plan.events) {
    scheduler.after(event.atMs, () => happen(world, event))
    last = Math.max(last, event.atMs)
  }
  const overdue = (): void => {
    world.oracle.overdue()
    scheduler.after(5_000, overdue)
  }
  scheduler.after(5_000, overdue)
  return last
}

const live = async (world: World, { steps = mostSteps, isOver = () => false }: SimulationOptions): Promise<void> => {
  const last = setOut(world)
  let restSince = -1
  let round = 0
  let cleaned = false
  while (world.violation === undefined && !isOver()) {
    await world.scheduler.step()
    const now = world.scheduler.now()
    if (world.scheduler.steps() > steps) return world.violated('everything ends', `still at work after ${steps} events`)
    if (now - Math.max(world.disturbedAt, last) > patienceMs)
      return world.violated('everything ends', 'still at work hours after the last disturbance')
    if (now <= last || !atRest(world)) restSince = -1
    else if (restSince < 0) restSince = now
    if (restSince < 0 || now - restSince < quietMs) continue
    world.oracle.rests()
    if (complete(world) && cleaned) return world.oracle.settled()
    restSince = -1
    if (complete(world)) {
      cleaned = true
      cleanUp(world)
      continue
    }
    round += 1
    answerOne(world, round)
  }
}

export const reset = (store: SyncStore): void => {
  store.rollback()
  store.script(`truncate ${tables.join(', ')} restart identity;
    update leader set engine_id = null, term = 0;
    update hatch set state = 'idle', changed_by = ''`)
}

export const runPlan = async (plan: Plan, store: SyncStore, options: SimulationOptions = {}): Promise<Outcome> => {
  reset(store)
  const world = createWorld(plan, store, options.hooks)
  if (options.each !== undefined) {
    const { trace } = world
    const { each } = options
    world.trace = (text) => {
      trace(text)
      each(`${(world.scheduler.now() / 1000).toFixed(3)} ${text}`)
    }
  }
  const rejected = (error: unknown): void => {
    if (!(error instanceof Killed)) world.broken('a rejection that nobody handles', error)
  }
  process.on('unhandledRejection', rejected)
  try {
    world.boot()
    await live(world, options)
  } catch (error) {
    world.broken('the simulation itself', error)
  } finally {
    world.current?.kill('the seed is over')
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', rejected)
  }
  const ends: Record<string, number> = {}
  for (const { state } of world.tables.goal.values()) ends[state] = (ends[state] ?? 0) + 1
  const outcome = {
    ...{ violation: world.violation, transitions: world.oracle.transitions(), steps: world.scheduler.steps() },
    ...{ virtualMs: world.scheduler.now(), faults: world.faults.fired, fingerprint: world.fingerprint() },
    met: world.met,
    ...{ recent: world.recent(), ends },
  }
  world.letGo()
  return outcome
}
