/**
 * What answers hold, as schemas: the document at /openapi.json is made from them and a test holds every real answer
 * against them. `Wire` ties each to the type that the engine works with, so a field added there is missed here by tsc.
 */
import { z } from 'zod'
import type { AccountLimit } from '../domain/account.ts'
import type { Agent } from '../domain/agent.ts'
import { agentStates } from '../domain/agent.ts'
import { lanes } from '../domain/dispatch.ts'
import { engineRoles, engineStates } from '../domain/engine.ts'
import { choices, escalationStates, type Escalation } from '../domain/escalation.ts'
import { goalStates, repoModes, type Goal } from '../domain/goal.ts'
import { runPhases, runStates, type Run } from '../domain/run.ts'
import { blockReasons, roles, taskStates, type TaskPlace } from '../domain/task.ts'
import type { Snapshot } from '../workspace/contract.ts'
import type {
  DoctorView,
  EngineView,
  ExplainView,
  GoalView,
  Health,
  LoginUrl,
  LogView,
  Metrics,
  Recovery,
  ReportView,
  StatusView,
  StoredEvent,
  TaskJson,
  TaskView,
  Wire,
} from './contract.ts'
import { verdict } from './verdict-answer.ts'

/** Complete both ways: the schema gives the type, and the type has nothing that the schema lacks. */
const of =
  <T>() =>
  <S extends z.ZodType<T>>(schema: S & (T extends z.output<S> ? unknown : never)): S =>
    schema

const text = z.string()
const time = z.iso.datetime()
const count = z.number().int().min(0)
const names = z.array(text)
const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}-[a-z0-9]+$`))
const spend = z.strictObject({ tokens: z.number(), costUsd: z.number(), seconds: z.number() })
const limits = z.strictObject({
  runSeconds: z.number().exactOptional(),
  runTokens: z.number().exactOptional(),
  runCostUsd: z.number().exactOptional(),
  goalSeconds: z.number().exactOptional(),
  goalTokens: z.number().exactOptional(),
  goalCostUsd: z.number().exactOptional(),
})

const goalFields = {
  id: id('g'),
  title: text,
  requirement: text,
  state: z.enum(goalStates),
  repoMode: z.enum(repoModes),
  targetBranch: text.nullable(),
  baseCommit: text.nullable(),
  headCommit: text.nullable(),
  autoMerge: z.boolean(),
  allowedDirs: names,
  limits,
  spend,
  reason: text,
  version: count,
  createdAt: time,
  changedAt: time,
  endedAt: time.nullable(),
}
export const goal = of<Wire<Goal>>()(z.strictObject(goalFields))

const places = [
  ...taskStates.filter((state) => state !== 'blocked'),
  ...blockReasons.map((reason) => `blocked(${reason})` as const),
] as [TaskPlace, ...TaskPlace[]]

const commandSource = z.enum(['task', 'config', 'inferred'])
const taskFields = {
  id: id('t'),
  goalId: id('g'),
  number: count,
  title: text,
  instructions: text,
  role: z.enum(roles),
  allowedPaths: names,
  deniedPaths: names,
  commands: names,
  originalCommands: names,
  commandSource,
  dependsOn: names,
  targetArea: text.nullable(),
  harness: text,
  model: text.nullable(),
  priority: z.number().int(),
  lane: z.enum(lanes),
  areas: names,
  engineId: text.nullable(),
  place: z.enum(places),
  retry: z.strictObject({ reason: text, at: time, inSeconds: count, count, limit: count }).nullable(),
  ready: z.boolean(),
  epoch: count,
  countFrom: time,
  version: count,
  createdAt: time,
  changedAt: time,
}
export const task = of<Wire<TaskJson>>()(z.strictObject(taskFields))

export const taskView = of<Wire<TaskView>>()(
  z.strictObject({
    ...taskFields,
    nextStep: z.strictObject({ owner: text, text, at: time.exactOptional() }).nullable(),
    state: text,
    run: z
      .strictObject({ id: id('r'), number: count, state: z.enum(runStates), phase: z.enum(runPhases), startedAt: time })
      .nullable(),
    recoveries: count,
  }),
)
export const goalView = of<Wire<GoalView>>()(
  z.strictObject({ ...goalFields, branch: text, tasks: z.array(taskView), mergeCommand: text.nullable() }),
)

const corrections = z.strictObject({ addDirs: names, skipGitCheck: z.boolean(), toolRules: names.exactOptional() })
const launch = z.strictObject({
  number: count,
  corrections,
  resumeSession: text.nullable(),
  hint: text.nullable(),
  ask: text.exactOptional(),
  shim: z.strictObject({ host: text, bootId: text, pid: count, startTime: text }).nullable(),
  gateOpened: z.boolean(),
  startedAt: text.nullable(),
  spend: spend.nullable(),
})
const errorMeta = z.strictObject({
  source: z.enum(['execution', 'verification', 'policy', 'merge', 'engine', 'person']),
  failureCode: text,
  message: text,
  evidence: text,
  signature: text,
  failedCommand: text.exactOptional(),
  failedCommandSource: text.exactOptional(),
  failedCommandStderr: text.exactOptional(),
  policyViolations: z.array(z.strictObject({ path: text, kind: text, rule: text })).exactOptional(),
})
export const run = of<Wire<Run>>()(
  z.strictObject({
    id: id('r'),
    taskId: id('t'),
    goalId: id('g'),
    number: count,
    epoch: count,
    agentId: text,
    harness: text,
    state: z.enum(runStates),
    phase: z.enum(runPhases),
    baseCommit: text.nullable(),
    launches: z.array(launch),
    sessionId: text.nullable(),
    spend,
    tree: text.nullable(),
    commit: text.nullable(),
    verdict: verdict.nullable(),
    errorMeta: errorMeta.nullable(),
    stopAsked: z.literal('cancelled').nullable(),
    judgedAt: time.nullable(),
    judgementVersion: count,
    startedAt: time,
    endedAt: time.nullable(),
    version: count,
  }),
)

export const agent = of<Wire<Agent>>()(
  z.strictObject({
    id: text,
    role: text,
    host: text,
    engineId: text.nullable(),
    state: z.enum(agentStates),
    heartbeatAt: time,
  }),
)
export const engine = of<Wire<EngineView>>()(
  z.strictObject({
    id: text,
    host: text,
    bootId: text,
    pid: count,
    startTime: text,
    roles: z.array(z.enum(engineRoles)),
    state: z.enum(engineStates),
    harnesses: names,
    labels: names,
    waiting: text.nullable(),
    ttlSeconds: z.number(),
    startedAt: time,
    heartbeatAt: time,
    leads: z.boolean(),
    silent: z.boolean(),
  }),
)
export const escalation = of<Wire<Escalation>>()(
  z.strictObject({
    id: id('q'),
    goalId: id('g'),
    taskId: text.nullable(),
    runId: text.nullable(),
    kind: z.enum(['blocker', 'exhausted', 'budget', 'merge_conflict', 'no_playbook']),
    question: text,
    details: text,
    choices: z.array(z.enum(choices)),
    state: z.enum(escalationStates),
    answer: z.enum(choices).nullable(),
    version: count,
    createdAt: time,
    decidedAt: time.nullable(),
  }),
)
/** The rows of the recovery table, with the action and its post-condition as the playbook recorded them. */
export const recovery = z.strictObject({
  id: text,
  goalId: id('g'),
  taskId: id('t'),
  runId: id('r'),
  worker: text,
  playbook: text,
  rung: count,
  scope: z.enum(['launch', 'run', 'task', 'goal']),
  label: text,
  signature: text,
  issueDetected: text,
  action: z.looseObject({ type: text, name: text }),
  actionKey: text,
  postCondition: z.looseObject({ type: text }),
  status: z.enum(['acting', 'success', 'failed']),
  counted: z.boolean(),
  attempt: count,
  detail: text,
  startedAt: time,
  decidedAt: time.nullable(),
} satisfies Record<keyof Recovery, z.ZodType>)

export const event = of<Wire<StoredEvent>>()(
  z.strictObject({
    id: count,
    at: time,
    type: text,
    goalId: text.nullable(),
    taskId: text.nullable(),
    runId: text.nullable(),
    payload: z.record(text, z.unknown()),
  }),
)

export const health = of<Health>()(
  z.strictObject({
    ok: z.literal(true),
    version: text,
    pid: count,
    root: text,
    running: count,
    draining: z.boolean(),
    store: text,
  }),
)
const accountLimit = of<Wire<AccountLimit>>()(
  z.strictObject({
    ...{ account: text, harnesses: names, evidence: text, until: time },
    ...{ taskId: id('t'), runId: id('r'), openedAt: time },
  }),
)
export const status = of<Wire<StatusView>>()(
  z.strictObject({
    at: time,
    lastEvent: count,
    goals: z.array(goalView),
    endedLeftOut: count,
    escalations: z.array(escalation),
    agents: z.array(agent),
    engines: z.array(engine),
    limits: z.array(accountLimit),
  }),
)
const counts = z.record(text, count)
export const metrics = of<Metrics>()(
  z.strictObject({
    at: time,
    goals: counts,
    tasks: counts,
    runs: counts,
    agents: counts,
    escalations: counts,
    recoveries: counts,
    events: z.strictObject({ count, last: count }),
    spent: spend,
  }),
)
export const log = of<LogView>()(
  z.strictObject({
    launch: count,
    lines: z.array(z.strictObject({ stream: z.enum(['stdout', 'stderr']), kind: text, text })),
    next: z.strictObject({ launch: count, stdout: count, stderr: count }),
    ended: z.boolean(),
  }),
)
export const report = of<ReportView>()(
  z.strictObject({
    since: time,
    until: time,
    landed: z.array(z.strictObject({ goal: text, task: text, title: text, commit: text.nullable() })),
    recovered: z.array(
      z.strictObject({
        playbook: text,
        label: text,
        status: text,
        action: text,
        task: text,
        ms: z.number().nullable(),
        detail: text,
      }),
    ),
    waiting: z.array(z.strictObject({ goal: text, task: text.nullable(), question: text, choices: names })),
    retrying: z.array(z.strictObject({ task: text, title: text, at: time, reason: text })),
    spent: spend,
  }),
)
export const doctor = of<DoctorView>()(
  z.strictObject({ ok: z.boolean(), checks: z.array(z.strictObject({ name: text, ok: z.boolean(), detail: text })) }),
)
export const explain = of<Wire<ExplainView>>()(
  z.strictObject({ title: text, lines: z.array(z.strictObject({ at: time, text })) }),
)
export const snapshot = of<Snapshot>()(
  z.strictObject({
    id: text,
    commit: text,
    reason: text,
    at: text,
    leftOut: z.array(z.strictObject({ path: text, bytes: count })),
  }),
)
export const restored = z.strictObject({ files: count })
export const cleaned = z.array(
  z.strictObject({ kind: z.enum(['workspace', 'snapshot', 'ref', 'remote ref']), id: text, reason: text }),
)
export const stopping = z.strictObject({ stopping: z.literal(true) })
export const draining = z.strictObject({ draining: z.literal(true), running: count })
export const loginUrl = of<LoginUrl>()(z.strictObject({ url: text, expiresAt: time }))
export const openapi = z.looseObject({ openapi: z.literal('3.1.0') })
export const failure = z.strictObject({ error: z.strictObject({ code: text, message: text }) })
