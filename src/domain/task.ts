/**
 * A task: one unit of work of a goal. A blocked task carries its reason in its place, so that the flow table tells
 * `blocked(awaiting_judge)` from `blocked(awaiting_human)`. A queued task with `retryAt` waits for that time.
 */
import { fromEach, type Flow } from './flow.ts'

export const taskStates = ['queued', 'running', 'done', 'failed', 'blocked', 'cancelled'] as const
export type TaskState = (typeof taskStates)[number]

export const blockReasons = ['awaiting_judge', 'quota_wait', 'needs_rework', 'issue_linking', 'awaiting_human'] as const
export type BlockReason = (typeof blockReasons)[number]

export type TaskPlace = Exclude<TaskState, 'blocked'> | `blocked(${BlockReason})`

export const roles = ['planner', 'worker', 'tester', 'docser', 'judge'] as const
export type Role = (typeof roles)[number]

/** Which slots a task may take; how many of each there are stands in dispatch.ts. */
export const lanes = ['feature', 'conflict_recovery', 'docser'] as const
export type Lane = (typeof lanes)[number]

/** Block reasons of older data read as their present meaning. */
export const readBlockReason = (text: string | null): BlockReason | null =>
  text === 'needs_human' ? 'awaiting_judge' : (text as BlockReason | null)

/** The countdown shown beside a failed or blocked task. */
export interface Retry {
  reason: string
  at: Date
  count: number
  limit: number
}

/** Where the verification commands come from. */
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
  /** The run whose work is in the folder; null = there was none. */
  runId: string | null
  /** For the person's terminal: into the folder, and on with the session of the agent. */
  command: string
  by: string
  /** The person is done: the next run takes the work from the folder and launches no agent. */
  givenBack: boolean
}

export interface Task extends TaskFields {
  id: string
  goalId: string
  /** 1, 2, … within its goal, in the order given. */
  number: number
  role: Role
  /** As asked for. Corrections drop from `commands`, the verification commands. */
  originalCommands: string[]
  commandSource: CommandSource
  dependsOn: string[]
  targetArea: string | null
  priority: number
  lane: Lane
  /** What it means to change, as the store compares it; empty = it runs beside anything. */
  areas: string[]
  /** The one engine that can do it, where it works in that engine's own folder. */
  engineId: string | null
  place: TaskPlace
  retry: Retry | null
  /** What a person says to every attempt until the task is done. */
  hint: string | null
  /** What a person changed during an attempt: the task takes it on when that attempt is over. */
  pendingEdit: Partial<TaskFields> | null
  takenOver: TakenOver | null
  /** All dependencies are done and the goal is active; kept by every write that could change it. */
  ready: boolean
  /** Rises with every claim; a run with a smaller one writes nothing. */
  epoch: number
  /** Start of the present count of recoveries: `retry` by a person begins a new one. */
  countFrom: Date
  /** Epoch of the last run before that; what decides, since no clock that is set back touches it. */
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
    { from: 'running', to: 'queued', trigger: 'harness_switched', owner: 'executor', event: 'task.requeued' },
    { from: 'failed', to: 'queued', trigger: 'retry_due', owner: 'cycle manager', event: 'task.requeued' },
    { from: 'failed', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    {
      from: 'blocked(quota_wait)',
      to: 'queued',
      trigger: 'retry_due',
      owner: 'cycle manager',
      event: 'task.requeued',
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
      to: 'queued',
      trigger: 'conflicted',
      owner: 'merge queue',
      event: 'task.requeued',
    },
    { from: 'done', to: 'queued', trigger: 'conflicted', owner: 'merge queue', event: 'task.requeued' },
    {
      from: 'done',
      to: 'blocked(awaiting_human)',
      trigger: 'escalated',
      owner: 'merge queue',
      event: 'task.escalated',
    },
    { from: 'blocked(awaiting_human)', to: 'queued', trigger: 'retried', owner: 'person', event: 'task.requeued' },
    { from: 'blocked(awaiting_human)', to: 'queued', trigger: 'given_back', owner: 'person', event: 'task.given_back' },
    ...fromEach(['queued', 'failed', 'blocked(quota_wait)'], {
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
    {
      from: 'queued',
      to: 'cancelled',
      trigger: 'dependency_cancelled',
      owner: 'cycle manager',
      event: 'task.cancelled',
    },
    ...fromEach(living, { to: 'cancelled', trigger: 'cancelled', owner: 'person', event: 'task.cancelled' }),
  ],
} as const satisfies Flow<TaskPlace>

export const stateOf = (place: TaskPlace): TaskState =>
  place.startsWith('blocked(') ? 'blocked' : (place as TaskState)

export const blockReasonOf = (place: TaskPlace): BlockReason | null =>
  place.startsWith('blocked(') ? (place.slice('blocked('.length, -1) as BlockReason) : null

export const placeOf = (state: TaskState, reason: BlockReason | null): TaskPlace =>
  state === 'blocked' ? `blocked(${reason ?? 'awaiting_human'})` : state

/** Until its work is merged or given up, what another task makes of the same files would begin on an older base. */
export const holdsAreas = (place: TaskPlace): boolean => place === 'running' || place === 'blocked(awaiting_judge)'

export const taskEnded = (place: TaskPlace): boolean => place === 'done' || place === 'cancelled'

/** An attempt is under way, or its work waits to land: until that is over the task stays what the attempt began with. */
export const isAttempted = (place: TaskPlace): boolean => place === 'running' || place === 'blocked(awaiting_judge)'

/** The next run of the task collects what a person did. */
export const isGivenBack = ({ takenOver }: Pick<Task, 'takenOver'>): boolean => takenOver?.givenBack === true

/** A person's work in a folder counts until it is collected into a commit, or the task ends. */
export const takenOverAt = (place: TaskPlace, takenOver: TakenOver | null): TakenOver | null => {
  if (takenOver === null || taskEnded(place) || place === 'blocked(awaiting_judge)') return null
  return place === 'blocked(awaiting_human)' ? { ...takenOver, givenBack: false } : takenOver
}

/** The task as its next attempt will see it. */
export const withEdit = (task: Task): Task => ({ ...task, ...task.pendingEdit })
