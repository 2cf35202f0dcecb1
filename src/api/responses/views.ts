/**
 * The schemas of responses that combine several stored entities (the status, a goal with its tasks, the report, a log), and
 * their types as clients receive them.
 */
import { undelivered } from './notifications.ts'
import { z } from 'zod'
import { claimBlockerCauses } from '../../domain/claimability.ts'
import { goalActions, taskActions } from '../../domain/allowed-actions.ts'
import { runPhases, runStates } from '../../domain/run.ts'
import { taskStates } from '../../domain/task.ts'
import { agent, engine, escalation, goalSchemaFields, loopState, recoveryStatus, taskSchemaFields } from './entities.ts'
import { count, id, names, retry, spend, text, time } from './parts.ts'
import { scheduleSchema } from './schedule.ts'
import { outcome, stillFailing } from './verdict.ts'

export const taskView = z.strictObject({
  ...taskSchemaFields,
  nextStep: z
    .strictObject({
      owner: text,
      text,
      at: time.exactOptional(),
      /** Why a queued task is not claimed; absent for a task that is free, or not queued. */
      waitsFor: z.enum(claimBlockerCauses).exactOptional(),
    })
    .nullable(),
  /** One of six; `place` also names the reason of a blocked task. */
  state: z.enum(taskStates),
  /** The newest run; null before the first one. */
  run: z
    .strictObject({
      ...{ id: id('r'), number: count, state: z.enum(runStates), phase: z.enum(runPhases), startedAt: time },
      endedAt: time.nullable(),
      commit: text.nullable(),
      outcome: outcome.nullable(),
      /** The outcome in words, with what the passing checks prove. */
      proof: text.nullable(),
      /** Tests of the base commit that expect something else after the work, and their files. */
      expectations: z.strictObject({ tests: names, files: names }).nullable(),
      /** Where a run of a loop is; null = the task is no loop. */
      loop: loopState
        .pick({ iteration: true, limit: true, role: true, stage: true })
        .extend({ tests: z.enum(['passed', 'failed', 'none']).nullable() })
        .nullable(),
      notes: names,
      /** Why it failed, in one line; equal signatures are the same failure. */
      failure: z.strictObject({ code: text, text, signature: text }).nullable(),
    })
    .nullable(),
  /** What a person may do now; each is also a command: `unstuck <action> <id>`. */
  actions: z.array(z.enum(taskActions)),
  /** Of all its runs. */
  recoveries: count,
})
export type TaskView = z.infer<typeof taskView>
export const goalViewSchema = z.strictObject({
  ...goalSchemaFields,
  branch: text,
  /** What a person may do now; each is also a command: `unstuck <action> <id>`. */
  actions: z.array(z.enum(goalActions)),
  tasks: z.array(taskView),
  /** Checks that failed before its work and still fail. */
  stillFailing,
  mergeCommand: text.nullable(),
  partCommand: text.nullable(),
  /** With the parameter `tasks`: how many tasks of each status are not listed. */
  moreTasks: z.record(text, count).exactOptional(),
})
export type GoalView = z.infer<typeof goalViewSchema>

export const health = z.strictObject({
  ok: z.literal(true),
  version: text,
  pid: count,
  root: text,
  running: count,
  /** It starts no new run and stops when the running ones have ended. */
  draining: z.boolean(),
  /** `embedded`, or the database without user and password. */
  store: text,
  /** The variables of its environment that are settings, each with a digest of its value. */
  variables: z.record(text, text),
})
export type Health = z.infer<typeof health>
export const accountLimit = z.strictObject({
  ...{ account: text, harnesses: names, evidence: text, until: time },
  ...{ taskId: id('t'), runId: id('r'), openedAt: time },
})
/** Commands that worked three times for the same failure and never failed, and that `recovery.auto_approve` does not list. */
const suggestions = z.array(
  z.strictObject({
    ...{ command: text, signature: text, worked: count },
    /** The line to add to `recovery.auto_approve`. */
    line: text,
  }),
)

const waitingChange = z.strictObject({
  digest: text,
  /** Secrets are redacted. */
  changes: z.array(z.strictObject({ key: text, before: text, after: text })),
})
export const configView = z.strictObject({ waiting: waitingChange.nullable(), rejected: z.array(text) })
export type ConfigStateView = z.infer<typeof configView>
export const configConfirmed = z.strictObject({ digest: text })
export const status = z.strictObject({
  at: time,
  /** Every event up to this number is reflected in this response: follow the events after it. */
  lastEvent: count,
  goals: z.array(goalViewSchema),
  /** How many older ended goals are not listed. */
  endedLeftOut: count,
  escalations: z.array(escalation),
  suggestions,
  agents: z.array(agent),
  engines: z.array(engine),
  /** Accounts on which no agent is launched before `until`. */
  limits: z.array(accountLimit),
  /** Channels over which notifications could not be delivered. */
  undelivered: z.array(undelivered),
  /** Those that come next first. */
  schedules: z.array(scheduleSchema),
  /** What the owner should know: settings that wait or are not valid, and what agents were refused. */
  notices: z.array(text),
})
export type StatusView = z.infer<typeof status>
const counts = z.record(text, count)
export const metrics = z.strictObject({
  at: time,
  goals: counts,
  tasks: counts,
  runs: counts,
  agents: counts,
  escalations: counts,
  recoveries: counts,
  events: z.strictObject({ count, last: count }),
  /** What the proposals of agents came to. Null = there is nothing to divide by. */
  recovery: z.strictObject({
    proposals: count,
    proposalsPerGoal: z.number().nullable(),
    /** By category, the most common first. */
    categories: counts,
    /** Of the commands that ran without a person: whether the failing check ran afterwards. */
    ...{ autoSucceeded: count, autoFailed: count, autoSuccessRate: z.number().nullable() },
    /** Questions about proposals, and their number per proposal. */
    ...{ escalations: count, escalationFrequency: z.number().nullable() },
    /** Mean time from such a question to its answer. */
    resolutionSeconds: z.number().nullable(),
  }),
  /** With reviews. */
  spent: spend,
  /** The part of it that reviewers of finished work used. */
  spentOnReviews: spend,
})
export type Metrics = z.infer<typeof metrics>
export const log = z.strictObject({
  launch: count,
  lines: z.array(z.strictObject({ stream: z.enum(['stdout', 'stderr']), kind: text, text })),
  next: z.strictObject({ launch: count, stdout: count, stderr: count }),
  ended: z.boolean(),
})
export type LogView = z.infer<typeof log>
export const activity = z.strictObject({
  /** So far, without cached input. */
  tokens: z.number(),
  /** The last line of the agent. */
  last: text.nullable(),
  /** The check that is running. */
  check: text.nullable(),
  /** What the agent reported about its progress. */
  report: text.nullable(),
})
export type ActivityView = z.infer<typeof activity>

/** What a run changed, without secrets. */
export const diff = z.strictObject({
  run: id('r'),
  /** Where the change was read: `workspace` = its present state, `none` = no change could be read. */
  source: z.enum(['commit', 'workspace', 'collected', 'snapshot', 'none']),
  /** Of the source `commit`. */
  commit: text.nullable(),
  /** At most 1,000. */
  files: z.array(z.strictObject({ path: text, kind: z.enum(['added', 'modified', 'deleted', 'mode', 'type']) })),
  fileCount: count,
  /** A patch of at most 1 MiB; `cut` = the rest is missing. */
  diff: text,
  /** Files that are too large or too many for the patch. */
  leftOut: names,
  cut: z.boolean(),
  /** While a person is asked about exactly this change: the commands that decide about it. */
  decisions: z.array(z.strictObject({ label: text, command: text })),
})
export type DiffView = z.infer<typeof diff>

/** The checks of the newest verification of a run; `endedAt` is null while one runs. */
export const checks = z.array(
  z.strictObject({
    ...{ number: count, command: text, startedAt: time.nullable(), endedAt: time.nullable(), outcome: text },
    lines: z.array(z.strictObject({ stream: z.enum(['stdout', 'stderr']), text })),
  }),
)
export type ChecksView = z.infer<typeof checks>
export const reportSchema = z.strictObject({
  since: time,
  until: time,
  /** On the user's branch. */
  landed: z.array(
    z.strictObject({
      ...{
        goal: text,
        task: text,
        title: text,
        commit: text.nullable(),
        outcome: outcome.nullable(),
        proof: text.nullable(),
      },
      stillFailing,
    }),
  ),
  /** Checks that fail on the user's branch since a goal landed. `command` undoes the work that made one fail. */
  failing: z.array(z.strictObject({ goal: text, title: text, detail: text, command: text.nullable() })),
  /** Finished, and not on the user's branch. */
  ready: z.array(z.strictObject({ goal: text, title: text, command: text })),
  recovered: z.array(
    z.strictObject({
      playbook: text,
      label: text,
      status: recoveryStatus,
      action: text,
      /** The action as a sentence says it: "waited and retried". */ did: text,
      task: text,
      ms: z.number().nullable(),
      detail: text,
    }),
  ),
  waiting: z.array(z.strictObject({ goal: text, task: text.nullable(), question: text, choices: names })),
  /** Tasks whose work did not pass and that a new task continues. */
  reworked: z.array(z.strictObject({ task: text, child: text, title: text, because: text })),
  retrying: z.array(z.strictObject({ task: text, title: text, ...retry.shape })),
  suggestions,
  /** With reviews. */
  spent: spend,
  /** The part of it that reviewers of finished work used. */
  spentOnReviews: spend,
})
export type ReportView = z.infer<typeof reportSchema>
export const doctorSchema = z.strictObject({
  ok: z.boolean(),
  checks: z.array(z.strictObject({ name: text, ok: z.boolean(), detail: text })),
})
export type DoctorView = z.infer<typeof doctorSchema>
export const reverted = z.strictObject({ task: id('t'), branch: text, commit: text })
export type Reverted = z.infer<typeof reverted>
export const explain = z.strictObject({
  title: text,
  /** Of a task only: which checks run, in one line. */
  checks: text.exactOptional(),
  lines: z.array(z.strictObject({ at: time, text })),
})
export type ExplainView = z.infer<typeof explain>

export const snapshotSchema = z.strictObject({
  id: text,
  commit: text,
  reason: text,
  at: text,
  leftOut: z.array(z.strictObject({ path: text, bytes: count })),
})
