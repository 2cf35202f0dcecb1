/**
 * The schemas of what is put together from several rows: the standing picture, a goal with its tasks and next steps, the
 * report, a log. `of` ties each to the type that the engine works with.
 */
import { z } from 'zod'
import type { AccountLimit } from '../../domain/account.ts'
import { claimBlockerCauses } from '../../domain/claimability.ts'
import { runPhases, runStates } from '../../domain/run.ts'
import type {
  ActivityView,
  DiffView,
  DoctorView,
  ExplainView,
  GoalView,
  Health,
  ChecksView,
  LogView,
  Metrics,
  ReportView,
  StatusView,
  TaskView,
  Wire,
} from '../contract.ts'
import { agent, engine, escalation, goalFields, taskFields } from './entities.ts'
import { outcome, stillFailing } from './verdict.ts'
import { count, id, names, of, spend, text, time } from './parts.ts'

export const taskView = of<Wire<TaskView>>()(
  z.strictObject({
    ...taskFields,
    nextStep: z
      .strictObject({
        owner: text,
        text,
        at: time.exactOptional(),
        waitsFor: z.enum(claimBlockerCauses).exactOptional(),
      })
      .nullable(),
    state: text,
    run: z
      .strictObject({
        ...{ id: id('r'), number: count, state: z.enum(runStates), phase: z.enum(runPhases), startedAt: time },
        endedAt: time.nullable(),
        outcome: outcome.nullable(),
        notes: names,
      })
      .nullable(),
    recoveries: count,
  }),
)
export const goalView = of<Wire<GoalView>>()(
  z.strictObject({
    ...{ ...goalFields, branch: text, tasks: z.array(taskView), stillFailing, mergeCommand: text.nullable() },
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
export const activity = of<ActivityView>()(
  z.strictObject({ tokens: z.number(), last: text.nullable(), check: text.nullable() }),
)

export const diff = of<DiffView>()(
  z.strictObject({
    run: id('r'),
    source: z.enum(['commit', 'workspace', 'collected', 'snapshot', 'none']),
    files: z.array(z.strictObject({ path: text, kind: z.enum(['added', 'modified', 'deleted', 'mode', 'type']) })),
    fileCount: count,
    diff: text,
    leftOut: names,
    cut: z.boolean(),
  }),
)

export const checks = of<ChecksView>()(
  z.array(
    z.strictObject({
      ...{ number: count, command: text, startedAt: time.nullable(), endedAt: time.nullable(), outcome: text },
      lines: z.array(z.strictObject({ stream: z.enum(['stdout', 'stderr']), text })),
    }),
  ),
)
export const report = of<ReportView>()(
  z.strictObject({
    since: time,
    until: time,
    landed: z.array(
      z.strictObject({
        ...{ goal: text, task: text, title: text, commit: text.nullable(), outcome: outcome.nullable(), stillFailing },
      }),
    ),
    ready: z.array(z.strictObject({ goal: text, title: text, command: text })),
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
  z.strictObject({ title: text, checks: text.exactOptional(), lines: z.array(z.strictObject({ at: time, text })) }),
)
