/**
 * A task: one unit of work of a goal. The status of a blocked task contains the reason, so that the flow table distinguishes
 * `blocked(awaiting_judge)` from `blocked(awaiting_human)`. A task that failed or met a limit is queued again at `retry.at`.
 */
import { fromEach, type Flow } from './flow.ts'
import type { Rework } from './rework.ts'
import type { JudgeMode } from './judgement.ts'
import { linkRows, reviewRows, type AwaitedLink, type TaskReview } from './task-review.ts'

export const taskStates = ['queued', 'running', 'done', 'failed', 'blocked', 'cancelled'] as const
export type TaskState = (typeof taskStates)[number]

export const blockReasons = ['awaiting_judge', 'quota_wait', 'needs_rework', 'issue_linking', 'awaiting_human'] as const
export type BlockReason = (typeof blockReasons)[number]

export type TaskStatus = Exclude<TaskState, 'blocked'> | `blocked(${BlockReason})`

export const roles = ['planner', 'worker', 'tester', 'docser', 'judge'] as const
export type Role = (typeof roles)[number]

/** `loop`: turns of planner, worker, tester and reviewer, again and again until promise and gates hold (loop.ts). */
export const taskKinds = ['code', 'loop'] as const
export type TaskKind = (typeof taskKinds)[number]

/**
 * What follows the division of a goal into tasks: they run; they run once a person resumed the goal; or nothing, because the person only
 * wanted to see the plan.
 */
export const planModes = ['run', 'review', 'only'] as const
export type PlanMode = (typeof planModes)[number]
/** `replan`: the task looks for what the finished tasks of its planned goal have left out. */
export const taskPlans = [...planModes, 'replan'] as const
export type TaskPlan = (typeof taskPlans)[number]

/** A task runs in one lane; dispatch.ts limits how many tasks run in each. */
export const lanes = ['feature', 'conflict_recovery', 'docser'] as const
export type Lane = (typeof lanes)[number]

/** Reads a block reason from the store, also under its name in older data. */
export const readBlockReason = (text: string | null): BlockReason | null =>
  text === 'needs_human' ? 'awaiting_judge' : (text as BlockReason | null)

/** When and why a failed or blocked task is queued again. `limit` -1 = this cause has none of its own. */
export interface Retry {
  reason: string
  at: Date
  count: number
  limit: number
}

/** For people: which retry it is, and of how many where its cause has a limit. */
export const retryNumber = ({ count, limit }: Pick<Retry, 'count' | 'limit'>): string =>
  limit < 0 ? `retry ${count}` : `retry ${count} of ${limit}`

/** The countdown to a time by the clock of the store, in whole seconds. */
export const secondsUntil = (at: Date, now: Date): number =>
  Math.max(0, Math.ceil((at.getTime() - now.getTime()) / 1000))

/** Where the verification commands of a task come from. */
export type CommandSource = 'task' | 'config' | 'inferred'

/** What a person may change about a task. */
export interface TaskFields {
  title: string
  instructions: string
  allowedPaths: string[]
  deniedPaths: string[]
  commands: string[]
  harness: string
  model: string | null
}

/** A person works on the task in a folder of their own, instead of an agent. */
export interface TakenOver {
  folder: string
  /** The commit that the files in the folder are compared with. */
  base: string
  /** The run whose work was copied into the folder; null = none. */
  runId: string | null
  /** For the person's terminal: enters the folder and resumes the session of the agent. */
  command: string
  by: string
  /** The person is done: the next run collects the work from the folder and launches no agent. */
  givenBack: boolean
}

export interface Task extends TaskFields {
  id: string
  goalId: string
  /** 1, 2, … within its goal, in the order given. */
  number: number
  kind: TaskKind
  role: Role
  /** The verification commands as requested. Corrections remove some from `commands`. */
  originalCommands: string[]
  commandSource: CommandSource
  dependsOn: string[]
  targetArea: string | null
  priority: number
  lane: Lane
  /** The areas that the task is expected to change, as the store compares them; empty = no other task excludes it. */
  areas: string[]
  /** The only engine that can run the task, where the task works in that engine's own folder; null = any. */
  engineId: string | null
  status: TaskStatus
  retry: Retry | null
  /** A person's advice, given to every attempt until the task is done. */
  hint: string | null
  /** What a person changed during an attempt; applied when that attempt has ended. */
  pendingEdit: Partial<TaskFields> | null
  takenOver: TakenOver | null
  /** Files that the task is about, as its author listed them. */
  contextFiles: string[]
  /** How strictly its work is judged; null = as the goal and the owner say. */
  judge: JudgeMode | null
  rework: Rework | null
  /** Null = the task makes changes of its own. */
  review: TaskReview | null
  /** Set where the task divides its goal into others, and changes nothing itself. */
  plan: TaskPlan | null
  link: AwaitedLink | null
  /** The task that continues this one, which is cancelled. */
  supersededBy: string | null
  /** All dependencies are done and the goal starts work; updated by every write that could change either. */
  ready: boolean
  /** Increases with every claim; a run with a smaller epoch writes nothing. */
  epoch: number
  /** Start of the present count of recoveries: a retry by a person begins a new count. */
  countFrom: Date
  /** Epoch of the last run before `countFrom`. Decisions use the epoch, because a clock may be set back. */
  countFromEpoch: number
  version: number
  createdAt: Date
  changedAt: Date
}

const living = ['queued', 'running', 'failed', ...blockReasons.map((reason) => `blocked(${reason})`)]

export const taskFlow = {
  entity: 'task',
  states: [
    'queued',
    'running',
    'done',
    'failed',
    'cancelled',
    ...blockReasons.map((reason) => `blocked(${reason})` as const),
  ],
  terminal: ['done', 'cancelled'],
  rows: [
    { from: '', to: 'queued', trigger: 'created', owner: 'planner', event: 'task.created' },
    ...linkRows,
    { from: 'queued', to: 'running', trigger: 'claimed', owner: 'dispatcher', event: 'task.claimed' },
    { from: 'running', to: 'queued', trigger: 'interrupted', owner: 'engine', event: 'task.requeued' },
    {
      from: 'running',
      to: 'blocked(awaiting_judge)',
      trigger: 'run_succeeded',
      owner: 'executor',
      event: 'task.awaiting_judge',
    },
    { from: 'running', to: 'done', trigger: 'verdict_recorded', owner: 'judge', event: 'task.done' },
    { from: 'running', to: 'failed', trigger: 'run_failed', owner: 'executor', event: 'task.failed' },
    {
      from: 'running',
      to: 'blocked(awaiting_human)',
      trigger: 'escalated',
      owner: 'executor',
      event: 'task.escalated',
    },
    {
      from: 'running',
      to: 'blocked(quota_wait)',
      trigger: 'quota_reached',
      owner: 'executor',
      event: 'task.quota_wait',
    },
    {
      from: 'running',
      to: 'blocked(needs_rework)',
      trigger: 'rework_needed',
      owner: 'executor',
      event: 'task.needs_rework',
    },
    { from: 'running', to: 'queued', trigger: 'harness_switched', owner: 'executor', event: 'task.requeued' },
    // What it waited for is over; for a person, also a cause that passed by itself.
    ...fromEach(['failed', 'blocked(needs_rework)', 'blocked(quota_wait)', 'blocked(awaiting_human)'], {
      to: 'queued',
      trigger: 'retry_due',
      owner: 'cycle manager',
      event: 'task.requeued',
    }),
    { from: 'failed', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    {
      from: 'failed',
      to: 'blocked(needs_rework)',
      trigger: 'rework_needed',
      owner: 'cycle manager',
      event: 'task.needs_rework',
    },
    { from: 'blocked(needs_rework)', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    ...fromEach(['failed', 'blocked(needs_rework)'], {
      to: 'blocked(awaiting_human)',
      trigger: 'escalated',
      owner: 'cycle manager',
      event: 'task.escalated',
    }),
    ...reviewRows,
    {
      from: 'blocked(needs_rework)',
      to: 'cancelled',
      trigger: 'superseded',
      owner: 'cycle manager',
      event: 'task.cancelled',
    },
    {
      from: 'blocked(needs_rework)',
      to: 'cancelled',
      trigger: 'given_up',
      owner: 'cycle manager',
      event: 'task.cancelled',
    },
    { from: 'blocked(quota_wait)', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    { from: 'blocked(awaiting_judge)', to: 'done', trigger: 'merged', owner: 'merge queue', event: 'task.done' },
    {
      from: 'blocked(awaiting_judge)',
      to: 'blocked(awaiting_human)',
      trigger: 'escalated',
      owner: 'merge queue',
      event: 'task.escalated',
    },
    {
      from: 'blocked(awaiting_judge)',
      to: 'blocked(needs_rework)',
      trigger: 'objected',
      owner: 'judge',
      event: 'task.needs_rework',
    },
    {
      from: 'blocked(awaiting_human)',
      to: 'blocked(needs_rework)',
      trigger: 'objected',
      owner: 'person',
      event: 'task.needs_rework',
    },
    {
      from: 'blocked(awaiting_human)',
      to: 'blocked(awaiting_judge)',
      trigger: 'asked_again',
      owner: 'person',
      event: 'task.awaiting_judge',
    },
    ...fromEach(['blocked(awaiting_judge)', 'done'], {
      to: 'blocked(needs_rework)',
      trigger: 'conflict_left_to_agent',
      owner: 'merge queue',
      event: 'task.needs_rework',
    }),
    {
      from: 'blocked(awaiting_judge)',
      to: 'queued',
      trigger: 'conflicted',
      owner: 'merge queue',
      event: 'task.requeued',
    },
    ...fromEach(['done', 'blocked(needs_rework)'], {
      to: 'queued',
      trigger: 'conflicted',
      owner: 'merge queue',
      event: 'task.requeued',
    }),
    {
      from: 'done',
      to: 'blocked(awaiting_human)',
      trigger: 'escalated',
      owner: 'merge queue',
      event: 'task.escalated',
    },
    { from: 'blocked(awaiting_human)', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    { from: 'blocked(awaiting_human)', to: 'queued', trigger: 'given_back', owner: 'person', event: 'task.given_back' },
    ...fromEach(['queued', 'failed', 'blocked(quota_wait)', 'blocked(needs_rework)'], {
      to: 'blocked(awaiting_human)',
      trigger: 'taken_over',
      owner: 'person',
      event: 'task.taken_over',
    }),
    {
      from: 'blocked(awaiting_human)',
      to: 'blocked(awaiting_judge)',
      trigger: 'approved',
      owner: 'person',
      event: 'task.approved',
    },
    { from: 'blocked(awaiting_human)', to: 'done', trigger: 'approved_in_place', owner: 'person', event: 'task.done' },
    { from: 'cancelled', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    // Of a plan that a person looked at: the planner plans again.
    {
      ...{ from: 'done', to: 'queued', trigger: 'planned_again', owner: 'person' },
      ...{ event: 'task.requeued', isConditional: true },
    },
    {
      from: 'queued',
      to: 'cancelled',
      trigger: 'dependency_cancelled',
      owner: 'cycle manager',
      event: 'task.cancelled',
    },
    ...fromEach(living, { to: 'cancelled', trigger: 'cancelled', owner: 'person', event: 'task.cancelled' }),
  ],
} as const satisfies Flow<TaskStatus>

export const stateOf = (status: TaskStatus): TaskState =>
  status.startsWith('blocked(') ? 'blocked' : (status as TaskState)

export const blockReasonOf = (status: TaskStatus): BlockReason | null =>
  status.startsWith('blocked(') ? (status.slice('blocked('.length, -1) as BlockReason) : null

export const statusOf = (state: TaskState, reason: BlockReason | null): TaskStatus =>
  state === 'blocked' ? `blocked(${reason ?? 'awaiting_human'})` : state

/**
 * Whether a task in this status keeps others out of its areas. Until its work is merged or given up, another task on the
 * same files would start from an older base.
 */
export const holdsAreas = (status: TaskStatus): boolean => status === 'running' || status === 'blocked(awaiting_judge)'

export const taskEnded = (status: TaskStatus): boolean => status === 'done' || status === 'cancelled'

/** Whether the task is a part of the work, which counts show. An engine that is older than a command has no plans. */
export const isWork = ({ plan, supersededBy }: { plan?: TaskPlan | null; supersededBy: string | null }): boolean =>
  supersededBy === null && plan == null

/** Whether an attempt is in progress or waits to be merged: edits of the task are applied after that. */
export const isAttempted = (status: TaskStatus): boolean => status === 'running' || status === 'blocked(awaiting_judge)'

/** Whether the next run of the task collects the work of a person. */
export const isGivenBack = ({ takenOver }: Pick<Task, 'takenOver'>): boolean => takenOver?.givenBack === true

/** Whether a run of the task launches no agent: the work exists already. */
export const needsNoAgent = (task: Pick<Task, 'takenOver' | 'review'>): boolean =>
  isGivenBack(task) || task.review !== null

/** What remains of a takeover in a new status: the folder matters until its work is in a commit, or the task ends. */
export const takenOverAt = (status: TaskStatus, takenOver: TakenOver | null): TakenOver | null => {
  if (takenOver === null || taskEnded(status) || status === 'blocked(awaiting_judge)') return null
  return status === 'blocked(awaiting_human)' ? { ...takenOver, givenBack: false } : takenOver
}

/** The task as its next attempt will read it, with the pending edit applied. */
export const withEdit = (task: Task): Task => ({ ...task, ...task.pendingEdit })
