/**
 * Promise 1 as a function: who takes the next step of a task, and when. A task for which nobody does is a defect, and
 * `unstuck doctor` shows it. Pure.
 */
import type { AccountLimit } from '../../domain/account.ts'
import { overlapOf } from '../../domain/area.ts'
import type { EngineInfo } from '../../domain/engine.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Run } from '../../domain/run.ts'
import { holdsAreas, type Task } from '../../domain/task.ts'
import { waitEnd, type Recovery } from '../../store/recovery.ts'

export interface TaskFacts {
  task: Task
  goal: Goal
  tasks: readonly Task[]
  runs: readonly Run[]
  merges: readonly MergeEntry[]
  escalations: readonly Escalation[]
  /** Absent = nothing is said about who could do it. */
  engines?: readonly (EngineInfo & { silent: boolean })[]
  /** Accounts at their limit; absent = none. */
  limits?: readonly AccountLimit[]
  /** Recoveries that wait for an outage to end; absent = none. */
  waits?: readonly Recovery[]
}

export interface TaskStep {
  owner: string
  text: string
  /** Set for a countdown. */
  at?: Date
}

const questionFor = (facts: TaskFacts): Escalation | undefined =>
  facts.escalations.find((entry) => entry.state === 'pending' && entry.taskId === facts.task.id)

const list = (names: string[]): string => (names.length === 0 ? 'none' : [...new Set(names)].sort().join(', '))

/** What keeps every engine from taking the task; a person can help with most of it. */
const engineStep = (task: Task, engines: TaskFacts['engines']): TaskStep | undefined => {
  if (engines === undefined || engines.length === 0) return undefined
  const living = engines.filter(
    ({ state, silent, roles }) => state !== 'offline' && !silent && roles.includes('executor'),
  )
  if (living.length === 0)
    return { owner: 'person', text: 'no engine that executes is running: unstuck up, or unstuck worker on any host' }
  const own = task.engineId === null ? living : living.filter(({ id }) => id === task.engineId)
  if (own.length === 0)
    return {
      owner: 'person',
      text: `it works in the folder of engine ${task.engineId}, which is not running; start it there: unstuck up`,
    }
  const able = own.filter(({ harnesses }) => harnesses.includes(task.harness))
  if (able.length === 0) {
    const there = list(own.flatMap(({ harnesses }) => harnesses))
    return {
      owner: 'person',
      text: `no running engine has harness "${task.harness}" (there: ${there}); install it where an engine runs, or start a worker where it is: unstuck worker`,
    }
  }
  const open = able.filter(({ state }) => state === 'online')
  if (open.length === 0)
    return { owner: 'person', text: 'every engine that could do it is draining; start one again with unstuck up' }
  const [held] = open
  return held !== undefined && open.every(({ waiting }) => waiting !== null)
    ? { owner: 'dispatcher', text: `${held.waiting} on ${held.host}` }
    : undefined
}

/** A task that keeps this one from starting: its work in the same area runs or is not merged yet, or it has the slot of the lane. */
const rivalStep = (task: Task, tasks: readonly Task[]): TaskStep | undefined => {
  const running = tasks.filter((other) => other.place === 'running')
  for (const other of tasks.filter(({ id, place }) => id !== task.id && holdsAreas(place))) {
    const area = overlapOf(task.areas, other.areas)
    if (area !== undefined)
      return {
        owner: 'dispatcher',
        text:
          other.place === 'running'
            ? `waits for task ${other.number} "${other.title}", which is at work in ${area}`
            : `waits until the work of task ${other.number} "${other.title}" in ${area} is merged`,
      }
  }
  const same = running.filter(({ lane }) => lane === task.lane)
  return task.lane === 'feature' || same.length === 0
    ? undefined
    : { owner: 'dispatcher', text: `waits for its lane: ${same.length} of ${task.lane} at work` }
}

/** Nothing is launched on an account at its limit, so its tasks wait in the queue. */
const limitStep = (task: Task, limits: TaskFacts['limits']): TaskStep | undefined => {
  const held = limits?.find(({ harnesses }) => harnesses.includes(task.harness))
  return held === undefined
    ? undefined
    : { owner: 'dispatcher', text: `the account of ${task.harness} is free again`, at: held.until }
}

/** A paused goal waits for its owner. */
const pausedText = ({ id, landing: { broken } }: Goal): string =>
  broken === null
    ? `goal paused: unstuck resume ${id}`
    : `goal paused until its branch is there again: unstuck retry ${id} | unstuck cancel ${id}`

const queuedStep = (facts: TaskFacts): TaskStep => {
  const { task, goal, tasks } = facts
  if (goal.state === 'paused') return { owner: 'person', text: pausedText(goal) }
  const missing = task.dependsOn
    .map((id) => tasks.find((other) => other.id === id))
    .filter((other) => other?.place !== 'done')
  if (missing.length > 0)
    return { owner: 'dispatcher', text: `waits for task ${missing.map((other) => other?.number ?? '?').join(', ')}` }
  if (goal.landing.broken !== null) return { owner: 'merge queue', text: 'its goal branch is brought back first' }
  if (goal.landing.outdated)
    return { owner: 'merge queue', text: `the goal branch is brought onto ${goal.targetBranch ?? 'its target'} first` }
  return (
    engineStep(task, facts.engines) ??
    limitStep(task, facts.limits) ??
    rivalStep(task, tasks) ?? { owner: 'dispatcher', text: 'waits for a free agent' }
  )
}

const pendingStep = (entry: MergeEntry, waits: TaskFacts['waits']): TaskStep => {
  const wait = waits?.findLast(({ runId }) => runId === entry.runId)
  if (wait === undefined) return { owner: 'merge queue', text: `merge entry ${entry.number} waits for its turn` }
  const text = `merge entry ${entry.number} runs its checks again after "${wait.issueDetected.slice(0, 200)}"`
  return { owner: 'merge queue', text, at: waitEnd(wait) }
}

const judgeStep = ({ task, runs, merges, goal, waits }: TaskFacts): TaskStep | undefined => {
  const run = runs.filter((candidate) => candidate.taskId === task.id && candidate.state === 'success').at(-1)
  const entry = merges.find((candidate) => candidate.runId === run?.id)
  if (goal.state === 'paused') return { owner: 'person', text: pausedText(goal) }
  if (entry?.state === 'processing') return { owner: 'merge queue', text: `merge entry ${entry.number} is in work` }
  if (entry?.state === 'pending' && goal.landing.outdated)
    return { owner: 'merge queue', text: `merge entry ${entry.number} waits until the goal branch is rebased` }
  if (entry?.state === 'pending') return pendingStep(entry, waits)
  if (run !== undefined && run.judgedAt === null)
    return { owner: 'judge', text: `run ${run.id} waits for its judgement` }
  return undefined
}

/** Nobody has to do anything: it goes on when the limit of the account ends. */
const quotaStep = ({ task, runs }: TaskFacts): TaskStep | undefined => {
  if (task.retry === null) return undefined
  const last = runs.filter(({ taskId }) => taskId === task.id).at(-1)
  const said = last?.errorMeta?.evidence ?? ''
  return {
    owner: 'cycle manager',
    text: `the limit of ${last?.harness ?? task.harness} resets${said === '' ? '' : ` ("${said.slice(0, 200)}")`}`,
    at: task.retry.at,
  }
}

/** The next step of a task, or undefined for one that is stuck. Ended tasks have the step "none". */
export const nextStepOf = (facts: TaskFacts): TaskStep | undefined => {
  const { task, runs } = facts
  switch (task.place) {
    case 'done':
    case 'cancelled':
      return { owner: 'nobody', text: 'ended' }
    case 'queued':
      return queuedStep(facts)
    case 'running': {
      const run = runs.find((candidate) => candidate.taskId === task.id && candidate.state === 'running')
      return run === undefined ? undefined : { owner: 'executor', text: `run ${run.id}: ${run.phase}` }
    }
    case 'failed':
      return task.retry === null
        ? undefined
        : {
            owner: 'cycle manager',
            text: `retry ${task.retry.count} of ${task.retry.limit} after ${task.retry.reason}`,
            at: task.retry.at,
          }
    case 'blocked(quota_wait)':
      return quotaStep(facts)
    case 'blocked(awaiting_judge)':
      return judgeStep(facts)
    case 'blocked(awaiting_human)': {
      const question = questionFor(facts)
      return question === undefined
        ? undefined
        : {
            owner: 'person',
            text: `your answer is needed: unstuck answer ${task.id}`,
          }
    }
    case 'blocked(needs_rework)':
    case 'blocked(issue_linking)':
      return undefined
  }
}
