/**
 * What clients of the loopback API import: the schemas of requests, and the types of responses, which are inferred from the
 * schemas in responses/. The CLI and the dashboard see nothing else of the engine. The dashboard imports types and constants
 * only, so no schema gets into its bundle.
 */
import { z } from 'zod'
import { endedShown, repoModes } from '../domain/goal.ts'
import { judgeModes } from '../domain/judgement.ts'
import { runStates } from '../domain/run.ts'
import { planModes, taskKinds } from '../domain/task.ts'
import { branchNamePattern } from '../domain/task-review.ts'

/** PostgreSQL can store neither. */
const storable = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
const string = z.string().refine(storable, { error: 'contains a NUL byte or half a character; remove it' })

const path = string.max(4096)
const text = string.max(1024 * 1024)
const title = string
  .min(1)
  .max(400)
  .refine((value) => !/\p{Cc}/u.test(value), { error: 'contains a control character; give one line of plain text' })
const names = z.array(path).max(1000)

const taskInput = z.strictObject({
  id: string.min(1).max(200),
  title,
  instructions: text,
  allowedPaths: names,
  deniedPaths: names,
  contextFiles: names.exactOptional(),
  commands: names,
  after: names,
  priority: z.number().int(),
  role: z.enum(['worker', 'tester', 'docser', 'judge']),
  harness: string.max(64).exactOptional(),
  model: string.max(200).exactOptional(),
  targetArea: string.max(200).exactOptional(),
  kind: z.enum(taskKinds).exactOptional(),
  judge: z.enum(judgeModes).exactOptional(),
  /** Of a task of role `judge`. */
  review: z
    .union([
      z.strictObject({ branch: string.regex(branchNamePattern) }),
      z.strictObject({ mergeEntry: z.number().int().min(1) }),
    ])
    .exactOptional(),
  /** What has to be linked before the task may start. */
  link: string.min(1).max(200).exactOptional(),
})

/** Zero and below = no limit, also where the configuration sets one. */
const goalLimit = z.number().min(-1)

/** Quoted in the error of an invalid request. */
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
      /** The linked worktree whose branch the goal starts from and lands on. Absent = the folder of the engine. */
      worktree: path.startsWith('/').exactOptional(),
      /** `loop`: tasks that name no kind are of kind `loop`. */
      strategy: z.enum(['tasks', 'loop']).exactOptional(),
      /** The one task of the input is a goal that a planner divides into tasks; what follows then. */
      plan: z.enum(planModes).exactOptional(),
      /** Absent = as the owner's configuration says. */
      judge: z.enum(judgeModes).exactOptional(),
      /** The issue of the forge that the goal is about; it has no other goal but cancelled ones. */
      issue: z.strictObject({ id: string.min(1).max(100), url: string.max(2000) }).exactOptional(),
      limits: z.strictObject({
        runSeconds: goalLimit.exactOptional(),
        runTokens: goalLimit.exactOptional(),
        runCostUsd: goalLimit.exactOptional(),
        goalSeconds: goalLimit.exactOptional(),
        goalTokens: goalLimit.exactOptional(),
        goalCostUsd: goalLimit.exactOptional(),
      }),
    }),
  })
  .meta({ examples: [goalExample] })

export type GoalRequest = z.output<typeof goalRequest>

/** Only the size is checked here; the runtime checks the content. */
const said = string.max(10_000)
/** Recorded in the event as who gave the command. */
const actor = { by: said.exactOptional() }

export const judgeRequest = z.strictObject({ off: z.boolean(), ...actor })
export const loginRequest = z.strictObject({
  variables: z.record(z.string().max(200), z.string().max(20_000)).default({}),
  ...actor,
})
export const linkRequest = z.strictObject({ issue: said, ...actor })
export const linkAwaitedRequest = z.strictObject({ waitsFor: said, ...actor })

export const scheduleRequest = z.strictObject({
  /** Five fields: minute, hour, day of the month, month, day of the week. Absent with `trigger`. */
  cron: string.max(200).exactOptional(),
  /** IANA name, such as Europe/Berlin. Absent with `trigger`. */
  timeZone: string.max(100).exactOptional(),
  /** Instead of times: `push` or `ci-failed`. */
  trigger: string.max(100).exactOptional(),
  goal: goalRequest,
  /** A goal file, relative to the repository or absolute: it is read again each time, instead of `goal.input`. */
  file: path.min(1).exactOptional(),
  ...actor,
})

export const actorRequest = z.strictObject(actor).default({})

/** Of the agent of a run; the runtime checks the content. */
export const proposalRequest = z.looseObject({})
export const progressRequest = z.strictObject({ text: said })
export const questionRequest = z.strictObject({ question: said })
export const confirmRequest = z.strictObject({
  digest: z.string({ error: 'allowed: the digest of the change as shown' }).regex(/^[0-9a-f]{64}$/, {
    error: 'allowed: the digest of the change as shown, 64 hexadecimal digits',
  }),
})

export const landRequest = z
  .strictObject({
    /** What is done lands now, without the tasks that are not. */
    done: z.boolean().exactOptional(),
    /** A local branch that becomes the target of the goal. */
    into: said.exactOptional(),
  })
  .default({})

export const retryRequest = z
  .strictObject({
    /** For every attempt from now on; an empty hint removes the present one. */
    hint: said.exactOptional(),
    ...actor,
  })
  .default({})
export const tellRequest = z.strictObject({ message: said, ...actor })
/** The beginning of the commit that the person looked at; other work is refused. */
const seenCommit = { commit: string.max(64).exactOptional() }
export const approveRequest = z.strictObject({ ...seenCommit, ...actor }).default({})
/** `note`: what has to be corrected. */
export const rejectRequest = z.strictObject({ note: said, ...seenCommit, ...actor })
/** Each field that is present replaces the value of the task. */
export const editRequest = z.strictObject({
  title: title.exactOptional(),
  instructions: text.exactOptional(),
  allowedPaths: names.exactOptional(),
  deniedPaths: names.exactOptional(),
  commands: names.exactOptional(),
  harness: string.max(64).exactOptional(),
  /** Null = the default of the harness. */
  model: string.max(200).nullable().exactOptional(),
  /** Required where the edit lets the task change more paths than before. */
  why: said.exactOptional(),
  ...actor,
})

export type EditRequest = z.output<typeof editRequest>

const answerFields = {
  /** The id of a choice of the question. */
  choice: string.min(1).max(64),
  /** For a choice that takes a text. */
  input: said.exactOptional(),
  /** For `approve_always`: the `seen` of the change that was shown. */
  seen: string.max(64).exactOptional(),
}
export const answerRequest = z.strictObject({ ...answerFields, ...actor })
/** Each is decided on its own: one that is refused holds no other up. */
export const answersRequest = z.strictObject({
  answers: z
    .array(z.strictObject({ id: string.max(64), ...answerFields }))
    .min(1)
    .max(100),
  ...actor,
})

export const resumeRequest = z.strictObject({ goal: string.max(64).nullable() })
export const restoreRequest = z.strictObject({ id: string.max(200), into: path.startsWith('/') })
/** What the command line refuses by itself; the rest is refused by its route. */
export const refusableCommands = ['unstuck init', 'unstuck up', 'unstuck restore'] as const
export const refusalRequest = z.strictObject({ action: z.enum(refusableCommands) })

export const cleanRequest = z.strictObject({ dryRun: z.boolean() })

/** For the tasks of a folder (`area`) or for one task. */
export const grantRequest = z.strictObject({
  path,
  area: path.exactOptional(),
  task: string.max(64).exactOptional(),
  /** Required; shown with the grant. */
  why: said.exactOptional(),
  ...actor,
})
/** The id of a grant, or a path whose grants are all revoked. */
export const revokeRequest = z.strictObject({ grant: path, ...actor })
export const forgetRequest = z.strictObject({ path, ...actor })

const whole = (max: number, fallback: number) => z.coerce.number().int().min(0).max(max).default(fallback)

const filter = string.max(64).optional()
const page = { after: string.max(200).optional(), limit: z.coerce.number().int().min(1).max(1000).default(1000) }

export const eventsQuery = z.strictObject({
  after: whole(Number.MAX_SAFE_INTEGER, 0),
  limit: whole(1000, 500),
  goal: filter,
  task: filter,
  run: filter,
})
/** `ended` = how many of the goals that have ended are listed, newest first. */
export const statusQuery = z.strictObject({
  ended: whole(endedShown.most, endedShown.standard),
  /** Lists at most so many tasks of each goal, those first that have not ended, and counts the others. Absent = all. */
  tasks: z.coerce.number().int().min(0).max(endedShown.most).optional(),
})
export const goalsQuery = z.strictObject(page)
export const tasksQuery = z.strictObject({ ...page, goal: filter })
const runState = `(?:${runStates.join('|')})`
const runStateList = z.string().regex(new RegExp(`^${runState}(?:,${runState})*$`), {
  error: `allowed: ${runStates.join(', ')}; several are separated by commas`,
})
export const runsQuery = z.strictObject({ ...page, goal: filter, task: filter, state: runStateList.optional() })
export const recoveriesQuery = z.strictObject({ ...page, goal: filter, task: filter })
export const requeuesQuery = z.strictObject({ ...page, goal: filter, task: filter })
export const judgementsQuery = z.strictObject({ ...page, goal: filter, task: filter })
export const escalationsQuery = z.strictObject({
  ...page,
  goal: filter,
  state: z.enum(['pending', 'all']).default('all'),
})
export const notificationsQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(100) })

/** Without `id`: everything that was given up and still helps. */
export const retryNotificationsRequest = z.strictObject({ id: string.max(200).exactOptional() }).default({})

/** `live` = those that count. */
export const grantsQuery = z.strictObject({ state: z.enum(['live', 'all']).default('live') })
const secret = string.max(200)
export const sessionRequest = z.strictObject({ code: secret })
export const challengeRequest = z.strictObject({ id: secret, nonce: secret })
export const resumeSessionRequest = z.strictObject({ id: secret, nonce: secret, proof: secret })
export const noQuery = z.strictObject({})
/** `autoCreateIssueTasks`: issues whose turn it is become goals. The other flag is one of clients of the founding documents, and changes nothing. */
export const preflightRequest = z
  .strictObject({
    content: string.max(100_000).default(''),
    autoCreateIssueTasks: z.boolean().default(true),
    autoCreatePrJudgeTasks: z.boolean().default(true),
  })
  .prefault({})
export const logQuery = z.strictObject({
  launch: whole(1000, 0),
  stdout: whole(Number.MAX_SAFE_INTEGER, 0),
  stderr: whole(Number.MAX_SAFE_INTEGER, 0),
})
export const reportQuery = z.strictObject({ since: z.iso.datetime({ offset: true }) })

export type {
  AnsweredJson as Answered,
  EngineView,
  EscalationJson as Escalation,
  EventView,
  GoalJson as Goal,
  RecoveryJson as Recovery,
  RunJson as Run,
  TaskJson as Task,
} from './responses/entities.ts'
export type { NotificationJson, RetriedDeliveryJson } from './responses/notifications.ts'
export type { JudgeSwitchJson as JudgeSwitch } from './responses/judge-switch.ts'
export type { GrantJson as Grant, GrantList, LearnedPathJson as LearnedPath } from './responses/grants.ts'
export type { RecoveryFigures } from './responses/recovery-sums.ts'
export type { ScheduleJson } from './responses/schedule.ts'
export type { PreflightJson } from './responses/preflight.ts'
export type { QuotaView } from './responses/account-use.ts'
export type { AlwaysChangeView, AnswerResults, InboxQuestion, InboxView } from './responses/inbox.ts'
export type { JudgementJson as Judgement } from './responses/judgement.ts'
export type { RequeueJson as Requeue } from './responses/requeue.ts'
export type { AgentQuestionView } from './responses/run-tool-responses.ts'
export type { Challenge, LoginUrl, SessionKey, SessionView, TakenLoginJson } from './responses/outcomes.ts'
export type {
  ActivityView,
  ConfigStateView,
  ChecksView,
  DiffView,
  DoctorView,
  Reverted,
  ExplainView,
  GoalView,
  Health,
  LogView,
  Metrics,
  ReportView,
  StatusView,
  TaskView,
} from './responses/views.ts'
export type { SiblingAddress, SiblingsView } from './responses/sibling-responses.ts'
export { runPhases } from '../domain/run.ts'
export { actionText } from '../domain/action-text.ts'
export { failuresText as redText } from '../domain/preexisting-failures.ts'
export { isAboutDetails, questionTopic } from '../domain/escalation.ts'
export { outcomeText } from '../domain/proof.ts'
export { taskStates } from '../domain/task.ts'
export { readableTitle } from '../domain/task-title.ts'
