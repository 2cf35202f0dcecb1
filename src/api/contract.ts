/**
 * The wire contract of the loopback API: what requests may hold and what answers look like. The CLI is a client of it and
 * sees nothing else of the engine.
 */
import { z } from 'zod'
import type { AccountLimit } from '../domain/account.ts'
import type { Agent } from '../domain/agent.ts'
import type { ClaimBlocker } from '../domain/claimability.ts'
import type { EngineInfo } from '../domain/engine.ts'
import type { Answered, Escalation } from '../domain/escalation.ts'
import { endedShown, repoModes, type Goal } from '../domain/goal.ts'
import type { MergeEntry } from '../domain/merge.ts'
import type { Run, StillRed, Verdict } from '../domain/run.ts'
import type { Retry, Task } from '../domain/task.ts'
import type { Recovery } from '../store/recovery.ts'
import type { StoredEvent } from '../store/event.ts'

/** The store takes neither. */
const storable = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
const string = z.string().refine(storable, { error: 'it holds a NUL byte or half a character; remove it' })

const path = string.max(4096)
const text = string.max(1024 * 1024)
const title = string
  .min(1)
  .max(400)
  .refine((value) => !/\p{Cc}/u.test(value), { error: 'it holds a control character; give one line of plain text' })
const names = z.array(path).max(1000)

const taskInput = z.strictObject({
  id: string.min(1).max(200),
  title,
  instructions: text,
  allowedPaths: names,
  deniedPaths: names,
  commands: names,
  after: names,
  priority: z.number().int(),
  role: z.enum(['worker', 'tester', 'docser']),
  harness: string.max(64).exactOptional(),
  model: string.max(200).exactOptional(),
  targetArea: string.max(200).exactOptional(),
})

const number = z.number().min(-1)

/** Shown with each refusal: the whole shape, small enough to be read. */
const goalExample = {
  input: {
    title: 'Add a test',
    requirement: 'Add a test for the parser',
    tasks: [
      {
        id: '1',
        title: 'Add a test',
        instructions: 'Add a test for the parser',
        allowedPaths: ['**'],
        deniedPaths: [],
        commands: ['npm test'],
        after: [],
        priority: 0,
        role: 'worker',
      },
    ],
    allowedDirs: [],
    warnings: [],
  },
  options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
}

export const goalRequest = z
  .strictObject({
    input: z.strictObject({
      title,
      requirement: text,
      tasks: z.array(taskInput).min(1).max(1000),
      allowedDirs: names,
      warnings: names,
    }),
    options: z.strictObject({
      autoMerge: z.boolean(),
      repoMode: z.enum(repoModes),
      allowedDirs: z.array(path.startsWith('/')).max(100),
      harness: string.max(64).nullable(),
      limits: z.strictObject({
        runSeconds: number.exactOptional(),
        runTokens: number.exactOptional(),
        runCostUsd: number.exactOptional(),
        goalSeconds: number.exactOptional(),
        goalTokens: number.exactOptional(),
        goalCostUsd: number.exactOptional(),
      }),
    }),
  })
  .meta({ examples: [goalExample] })

export type GoalRequest = z.output<typeof goalRequest>

/** Bounds of the wire; what a field may hold is checked where it is stored. */
const said = string.max(10_000)
/** Who asks, for the event. */
const actor = { by: said.exactOptional() }

export const actorRequest = z.strictObject(actor).default({})

export const retryRequest = z
  .strictObject({
    /** For the attempts from now on; an empty one removes the present hint. */
    hint: said.exactOptional(),
    ...actor,
  })
  .default({})
/** Each field that is there takes the place of the present one. */
export const editRequest = z.strictObject({
  title: title.exactOptional(),
  instructions: text.exactOptional(),
  allowedPaths: names.exactOptional(),
  deniedPaths: names.exactOptional(),
  commands: names.exactOptional(),
  harness: string.max(64).exactOptional(),
  /** Null = the harness's own. */
  model: string.max(200).nullable().exactOptional(),
  /** The reason; needed where the task may change more than before. */
  why: said.exactOptional(),
  ...actor,
})

export type EditRequest = z.output<typeof editRequest>

export const answerRequest = z.strictObject({
  /** The id of one of the question's choices. */
  choice: string.min(1).max(64),
  /** The text that the choice asks for. */
  input: said.exactOptional(),
  ...actor,
})

export const resumeRequest = z.strictObject({ goal: string.max(64).nullable() })
export const restoreRequest = z.strictObject({ id: string.max(200), into: path.startsWith('/') })
export const cleanRequest = z.strictObject({ dryRun: z.boolean() })

const whole = (max: number, standard: number) => z.coerce.number().int().min(0).max(max).default(standard)

const filter = string.max(64).optional()
const page = { after: string.max(200).optional(), limit: z.coerce.number().int().min(1).max(1000).default(1000) }

export const eventsQuery = z.strictObject({
  after: whole(Number.MAX_SAFE_INTEGER, 0),
  limit: whole(1000, 500),
  goal: filter,
  task: filter,
  run: filter,
})
/** How many of the goals that have ended a status shows, the newest first. */
export const statusQuery = z.strictObject({ ended: whole(endedShown.most, endedShown.standard) })
export const goalsQuery = z.strictObject(page)
export const tasksQuery = z.strictObject({ ...page, goal: filter })
export const runsQuery = z.strictObject({ ...page, goal: filter, task: filter })
export const recoveriesQuery = z.strictObject({ ...page, goal: filter, task: filter })
export const escalationsQuery = z.strictObject({
  ...page,
  goal: filter,
  state: z.enum(['pending', 'all']).default('all'),
})
const secret = string.max(200)
export const sessionRequest = z.strictObject({ code: secret })
export const challengeRequest = z.strictObject({ id: secret, nonce: secret })
export const resumeSessionRequest = z.strictObject({ id: secret, nonce: secret, proof: secret })
export const noQuery = z.strictObject({})
export const logQuery = z.strictObject({
  launch: whole(1000, 0),
  stdout: whole(Number.MAX_SAFE_INTEGER, 0),
  stderr: whole(Number.MAX_SAFE_INTEGER, 0),
})
export const reportQuery = z.strictObject({ since: z.iso.datetime({ offset: true }) })

export interface Health {
  ok: true
  version: string
  pid: number
  root: string
  running: number
  /** It takes no new work and stops when its runs have ended. */
  draining: boolean
  /** Where the store is: `embedded`, or the database without its user and password. */
  store: string
}

/** What JSON makes of a value: times are ISO strings on the wire. */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T

/** A URL that logs a browser in once. */
export interface LoginUrl {
  url: string
  expiresAt: string
}

/** What a page sends with each request, until the engine or the login ends. */
export interface SessionView {
  token: string
  expiresAt: string
}

/** Kept in the memory of the page, and never sent. */
export interface SessionKey {
  id: string
  key: string
}

export interface Challenge {
  nonce: string
  proof: string
}

/** Plain counts of what the store holds. */
export interface Metrics {
  at: string
  goals: Record<string, number>
  tasks: Record<string, number>
  runs: Record<string, number>
  agents: Record<string, number>
  escalations: Record<string, number>
  recoveries: Record<string, number>
  events: { count: number; last: number }
  spent: { tokens: number; costUsd: number; seconds: number }
}

/** A task on the wire: a wait says how long it still is, by the store's clock at the moment of the answer. */
export interface TaskJson extends Omit<Task, 'retry'> {
  retry: (Retry & { inSeconds: number }) | null
}

/** What the checks of a run showed. */
type Outcome = Verdict['outcome']

/** A task as people see it: with its next step, who takes it and, for a wait, when. */
export interface TaskView extends TaskJson {
  nextStep: {
    owner: string
    text: string
    at?: string
    /** Why a queued task is not taken; absent for one that is free, or in another state. */
    waitsFor?: ClaimBlocker['cause']
  } | null
  /** Names of the six states of the specification; `place` carries the block reason. */
  state: string
  /** The newest attempt. */
  run:
    | (Pick<Run, 'id' | 'number' | 'state' | 'phase' | 'startedAt' | 'endedAt'> & {
        outcome: Outcome | null
        notes: string[]
      })
    | null
  /** Recoveries so far, over all runs. */
  recoveries: number
}

export interface GoalView extends Goal {
  branch: string
  tasks: TaskView[]
  /** What failed before its work and still fails. */
  stillFailing: StillRed[]
  mergeCommand: string | null
}

/** An engine as people see it: whether it leads, and whether its heartbeat is overdue. */
export interface EngineView extends EngineInfo {
  leads: boolean
  silent: boolean
}

export interface StatusView {
  at: string
  /** Number of the newest event that this picture is sure to hold: follow the events from here. */
  lastEvent: number
  goals: GoalView[]
  /** How many older goals that have ended are not among them. */
  endedLeftOut: number
  escalations: Escalation[]
  agents: Agent[]
  engines: EngineView[]
  /** Accounts on which nothing is launched now. */
  limits: AccountLimit[]
}

export interface ReportView {
  since: string
  until: string
  /** On the user's branch. */
  landed: {
    goal: string
    task: string
    title: string
    commit: string | null
    outcome: Outcome | null
    stillFailing: StillRed[]
  }[]
  /** Finished, and not on the user's branch. */
  ready: { goal: string; title: string; command: string }[]
  recovered: {
    playbook: string
    label: string
    status: string
    action: string
    task: string
    ms: number | null
    detail: string
  }[]
  waiting: { goal: string; task: string | null; question: string; choices: string[] }[]
  retrying: { task: string; title: string; at: string; reason: string }[]
  spent: { tokens: number; costUsd: number; seconds: number }
}

export interface DoctorView {
  ok: boolean
  checks: { name: string; ok: boolean; detail: string }[]
}

export interface ExplainView {
  title: string
  /** Of a task: which checks run, in one line. */
  checks?: string
  lines: { at: string; text: string }[]
}

/**
 * An event as it is told: a recovery has an id of its own, and the founding document's frame begins with it. `seq` is the place
 * of any event, behind which a follower goes on.
 */
export interface EventView extends Omit<StoredEvent, 'id'> {
  seq: number
  id: number | string
  timestamp: Date
}

export type { ActivityView, ChecksView, DiffView, LogView } from './run-views.ts'
export type { Answered, Escalation, Goal, MergeEntry, Recovery, Run, Task }
export { runPhases } from '../domain/run.ts'
export { redText } from '../domain/still-red.ts'
export { taskStates } from '../domain/task.ts'
