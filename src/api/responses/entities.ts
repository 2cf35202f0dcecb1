/**
 * The schemas of goals, tasks, runs and the other stored entities, and their types as clients receive them: times are ISO
 * strings. handlers.ts does not compile while a handler returns anything else.
 */
import { z } from 'zod'
import { agentStates } from '../../domain/agent.ts'
import { engineRoles, engineStates } from '../../domain/engine.ts'
import { choiceKinds, escalationKinds, escalationStates } from '../../domain/escalation.ts'
import { goalStates, repoModes, targetCheckStates } from '../../domain/goal.ts'
import { judgeModes } from '../../domain/judgement.ts'
import { loopRoles, loopStages } from '../../domain/loop.ts'
import { runPhases, runStates } from '../../domain/run.ts'
import { reworkKinds } from '../../domain/rework.ts'
import { blockReasons, lanes, roles, taskKinds, taskPlans, taskStates, type TaskStatus } from '../../domain/task.ts'
import { choiceSchema } from './choice-schema.ts'
import { count, id, limits, names, retry, spend, text, time } from './parts.ts'
import { verdict } from './verdict.ts'

export const goalSchemaFields = {
  id: id('g'),
  title: text,
  requirement: text,
  state: z.enum(goalStates),
  repoMode: z.enum(repoModes),
  targetBranch: text.nullable(),
  baseCommit: text.nullable(),
  headCommit: text.nullable(),
  branchPrefix: text,
  autoMerge: z.boolean(),
  judge: z.enum(judgeModes).nullable(),
  landing: z.strictObject({
    ...{ asked: z.boolean(), outdated: z.boolean(), unverified: z.boolean(), sentBack: z.boolean(), tries: count },
    ...{ part: z.boolean().exactOptional(), partHead: text.exactOptional() },
    endedAs: z.enum(['failed', 'cancelled']).nullable().exactOptional(),
    signing: z
      .strictObject({
        ...{ usable: z.boolean(), head: text.exactOptional() },
        next: z.strictObject({ from: text, to: text }).exactOptional(),
        failed: z.strictObject({ head: text, at: text }).exactOptional(),
        waived: z.literal(true).exactOptional(),
      })
      .exactOptional(),
    onForge: text.nullable().exactOptional(),
    refused: z.strictObject({ reason: text, detail: text, paths: names }).nullable(),
    broken: z
      .strictObject({
        reason: z.enum(['lost', 'failed', 'replaced']),
        ...{ detail: text, tries: count, question: text.nullable(), again: z.boolean() },
      })
      .nullable(),
    target: z
      .strictObject({
        state: z.enum(targetCheckStates),
        ...{ commit: text, base: text, command: text.nullable(), taskId: text.nullable(), detail: text },
      })
      .nullable(),
  }),
  allowedDirs: names,
  grants: z.array(z.strictObject({ harness: text, rule: text })),
  limits,
  spend,
  reason: text,
  version: count,
  createdAt: time,
  changedAt: time,
  endedAt: time.nullable(),
}
export const goalSchema = z.strictObject(goalSchemaFields)
export type GoalJson = z.infer<typeof goalSchema>

const statuses = [
  ...taskStates.filter((state) => state !== 'blocked'),
  ...blockReasons.map((reason) => `blocked(${reason})` as const),
] as [TaskStatus, ...TaskStatus[]]

const commandSource = z.enum(['task', 'config', 'inferred'])
/** What a person changed of these. */
const pendingEdit = z.strictObject({
  title: text.exactOptional(),
  instructions: text.exactOptional(),
  allowedPaths: names.exactOptional(),
  deniedPaths: names.exactOptional(),
  commands: names.exactOptional(),
  harness: text.exactOptional(),
  model: text.nullable().exactOptional(),
})
const takenOver = z.strictObject({
  ...{ folder: text, base: text, runId: id('r').nullable(), command: text, by: text },
  givenBack: z.boolean(),
})
const rework = z.strictObject({
  parent: id('t'),
  depth: count,
  because: text,
  kind: z.enum(reworkKinds).exactOptional(),
})
/** What a task of role `judge` reviews. `head`: the newest commit that was seen. */
const review = z.union([
  z.strictObject({ branch: text, head: text.nullable() }),
  z.strictObject({ mergeEntry: count, head: text.nullable() }),
])
export const taskSchemaFields = {
  id: id('t'),
  goalId: id('g'),
  number: count,
  title: text,
  instructions: text,
  kind: z.enum(taskKinds),
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
  status: z.enum(statuses),
  /** The same as `status`, under its earlier name, for programs that read it. */
  place: z.enum(statuses),
  retry: retry.nullable(),
  hint: text.nullable(),
  pendingEdit: pendingEdit.nullable(),
  takenOver: takenOver.nullable(),
  contextFiles: z.array(text),
  judge: z.enum(judgeModes).nullable(),
  rework: rework.nullable(),
  review: review.nullable(),
  plan: z.enum(taskPlans).nullable(),
  /** `question`: the one about the link, once its time is over. */
  link: z.strictObject({ waitsFor: text, issue: text.nullable(), question: id('q').exactOptional() }).nullable(),
  supersededBy: id('t').nullable(),
  ready: z.boolean(),
  epoch: count,
  countFrom: time,
  countFromEpoch: count,
  version: count,
  createdAt: time,
  changedAt: time,
}
export const taskSchema = z.strictObject(taskSchemaFields)
export type TaskJson = z.infer<typeof taskSchema>

const corrections = z.strictObject({ addDirs: names, skipGitCheck: z.boolean(), toolRules: names.exactOptional() })
const launch = z.strictObject({
  number: count,
  corrections,
  resumeSession: text.nullable(),
  hint: text.nullable(),
  ask: text.exactOptional(),
  shim: z.strictObject({ host: text, bootId: text, pid: count, startTime: text }).nullable(),
  gateOpened: z.boolean(),
  confined: z.boolean().exactOptional(),
  startedAt: text.nullable(),
  loginBefore: text.nullable().exactOptional(),
  spend: spend.nullable(),
  turn: z.strictObject({ iteration: count, role: z.enum(loopRoles) }).exactOptional(),
  harness: text.exactOptional(),
  leftAs: text.exactOptional(),
  heldTree: text.exactOptional(),
})
/** Where a run of a loop is. `tests`: the checks of this iteration, before the tester's turn. */
export const loopState = z.strictObject({
  iteration: count,
  role: z.enum(loopRoles),
  stage: z.enum(loopStages),
  limit: count,
  before: text.nullable(),
  tests: z
    .strictObject({
      ...{ state: z.enum(['passed', 'failed', 'none']), tree: text, text, signature: text },
      infra: z.literal(true).exactOptional(),
    })
    .nullable(),
  signatures: z.array(text),
  open: text,
  recoveries: count,
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
  failing: z.strictObject({ items: z.array(text), areTests: z.boolean() }).exactOptional(),
  adjustment: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('drop_command'), command: text, rest: text.exactOptional() }),
      z.strictObject({ type: z.literal('replace_command'), command: text, by: text }),
      z.strictObject({ type: z.literal('reorder'), command: text, order: z.array(text), build: text.exactOptional() }),
    ])
    .exactOptional(),
})
export const runSchema = z.strictObject({
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
  commitIntent: z.strictObject({ author: z.strictObject({ name: text, email: text }).nullable(), at: text }).nullable(),
  commit: text.nullable(),
  verdict: verdict.nullable(),
  errorMeta: errorMeta.nullable(),
  loop: loopState.nullable(),
  stopAsked: z.literal('cancelled').nullable(),
  message: z.strictObject({ text, launch: count }).nullable(),
  reviewed: text.nullable(),
  judgedAt: time.nullable(),
  judgementVersion: count,
  startedAt: time,
  endedAt: time.nullable(),
  version: count,
})
export type RunJson = z.infer<typeof runSchema>

export const agent = z.strictObject({
  id: text,
  role: text,
  host: text,
  engineId: text.nullable(),
  state: z.enum(agentStates),
  heartbeatAt: time,
})
export const engine = z.strictObject({
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
  /** The heartbeat is overdue. */
  silent: z.boolean(),
})
export type EngineView = z.infer<typeof engine>
export const escalationFields = {
  id: id('q'),
  goalId: id('g'),
  taskId: text.nullable(),
  runId: text.nullable(),
  kind: z.enum(escalationKinds),
  happened: text,
  tried: names,
  question: text,
  details: text,
  choices: z.array(choiceSchema),
  state: z.enum(escalationStates),
  answer: z.enum(choiceKinds).nullable(),
  version: count,
  createdAt: time,
  decidedAt: time.nullable(),
}
export const escalation = z.strictObject(escalationFields)
export type EscalationJson = z.infer<typeof escalation>
/** `line` is the command that opens the folder of a task in a terminal; null unless the choice was `take_over`. */
export const answered = z.strictObject({ ...escalationFields, line: text.nullable() })
export type AnsweredJson = z.infer<typeof answered>
export const recoveryStatus = z.enum(['acting', 'success', 'failed'])
/** Each playbook records its own action and post-condition, so only what all of them have in common is checked. */
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
  status: recoveryStatus,
  counted: z.boolean(),
  attempt: count,
  detail: text,
  startedAt: time,
  decidedAt: time.nullable(),
})
export type RecoveryJson = z.infer<typeof recovery>

/**
 * A recovery event carries the id of its recovery, all others their number. `seq` is always the number: clients resume the
 * stream after it.
 */
export const eventSchema = z.strictObject({
  seq: count,
  id: z.union([count, z.string().startsWith('rec_')]),
  timestamp: time,
  at: time,
  type: text,
  ...{ goalId: text.nullable(), taskId: text.nullable(), runId: text.nullable() },
  payload: z.record(text, z.unknown()),
})
export type EventView = z.infer<typeof eventSchema>
