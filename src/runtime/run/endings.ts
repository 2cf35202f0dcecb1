/**
 * How a run ends. Each ending is one transaction over run, lease, agent, task, goal and escalation; a crash can
 * therefore never leave a task without a next step.
 */
import type { AccountLimit } from '../../domain/account.ts'
import type { Task } from '../../domain/task.ts'
import type { ErrorMeta } from '../../domain/run.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { faultOfMachine } from '../../recovery/probe.ts'
import { waitEndsAt } from '../../recovery/reset-time.ts'
import { judgeModeOf } from '../../recovery/review/judge-mode.ts'
import { limitAccount } from '../../store/account.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { closeProposals } from '../../store/recovery-proposal.ts'
import { finishRun, judgeRun } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { accountFor, harnessesOnAccount } from '../harness/accounts.ts'
import { publishLimits } from '../harness/limits-elsewhere.ts'
import type { Context } from '../core/context.ts'
import { heldQuestion, heldReason, heldWork, recordUnrecovered } from '../core/held-work.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { failAttemptRecoveries, failOpenRecoveries, recordIntent, resolveOpenOf } from '../core/store-record.ts'
import { triedLines } from '../core/tried.ts'
import { decideQuestion } from '../landing/judge-questions.ts'
import type { RunContext } from '../core/run-context.ts'
import { cancellation } from './interruptions.ts'
import { defined } from '../../domain/defined.ts'

/** The stored reason of a failed run, from its diagnosis. */
export const errorMetaOf = (diagnosis: Diagnosis, extra: Partial<ErrorMeta> = {}): ErrorMeta => ({
  source: 'execution',
  failureCode: diagnosis.failureCode,
  message: `${diagnosis.label}: ${diagnosis.evidence}`,
  evidence: diagnosis.evidence,
  signature: diagnosis.signature,
  ...extra,
})

/** What the run stores about the check that failed. */
export const failedCheckMeta = ({ failed }: Pick<JudgedReport, 'failed'>): Partial<ErrorMeta> => {
  const machine = failed === undefined ? undefined : faultOfMachine(failed)
  return {
    source: 'verification',
    failedCommand: failed?.command ?? '',
    failedCommandSource: failed?.source ?? '',
    failedCommandStderr: (failed?.stderr ?? '').slice(-2_000),
    ...defined({ machine }),
  }
}

/**
 * Ends the run and its lease, frees the agent and adds to the goal's spend. The caller moves the task in the same
 * transaction.
 */
export const closeRun = async (
  tx: Queryable,
  runContext: RunContext,
  trigger: 'succeeded' | 'failed' | 'interrupted' | 'cancelled',
  errorMeta: ErrorMeta | null,
): Promise<void> => {
  runContext.run = mustSucceed(await finishRun(tx, runContext.run, trigger, errorMeta))
  await progressGoal(tx, runContext.goal.id, { spend: runContext.run.spend })
}

export const freshTask = async (tx: Queryable, runContext: RunContext) => {
  const task = await getTask(tx, runContext.task.id)
  if (task === undefined) throw new Error(`task ${runContext.task.id} is gone from the store`)
  return task
}

/**
 * Work in place is judged where the run ends, because it does not land. If something holds it, or the owner wants more than the gates to
 * decide, the task is done only after a person approved that: a reviewer gets a commit to look at, and here is none.
 */
const askAboutWork = async (tx: Queryable, { context, goal, run }: RunContext, task: Task): Promise<boolean> => {
  const { judge } = context.config()
  const isChanged = run.verdict?.noChange !== true
  const changedPaths = run.verdict?.changedPaths ?? []
  const mode = isChanged ? judgeModeOf({ settings: judge, goal, task, changedPaths }) : 'auto'
  const held = heldWork(task, run, isChanged ? judge.requiredChecks : [])
  if (held === undefined && mode === 'auto') return false
  const reason = held === undefined ? 'this work is judged by a person' : heldReason(held)
  mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason } }))
  const tried = triedLines(await recoveriesOf(tx, task.id))
  const why = mode === 'llm' ? { why: 'a reviewer cannot look at work in place' } : {}
  const question =
    mode === 'auto' && held !== undefined
      ? heldQuestion(task, run, { ...held, tried })
      : decideQuestion(task, run, { held, tried, ...why })
  await openEscalation(tx, { id: context.newId('q'), ...question })
  await recordUnrecovered(tx, run, held)
  return true
}

/** The run succeeded. Its task waits for the judge, or is done at once where nothing has to land. */
export const endSucceeded = async (runContext: RunContext): Promise<void> => {
  await runContext.context.db.transaction(async (tx) => {
    // Only a recovery that an interrupted run began can still be open here.
    await failAttemptRecoveries(tx, runContext.task.id, 'its run was interrupted, and a later run succeeded without it')
    const [, task] = await Promise.all([closeRun(tx, runContext, 'succeeded', null), freshTask(tx, runContext)])
    const payload = { verdict: runContext.run.verdict, commit: runContext.run.commit }
    if (runContext.goal.repoMode === 'direct' || runContext.run.verdict?.noChange === true) {
      await resolveOpenOf(tx, runContext.task.id, (condition) =>
        condition.type === 'work_merges'
          ? { satisfied: true, detail: 'nothing was left to change on the newer base' }
          : undefined,
      )
      await judgeRun(tx, runContext.run.id)
      if (await askAboutWork(tx, runContext, task)) return
      mustSucceed(await moveTask(tx, task, 'verdict_recorded', { runId: runContext.run.id, payload }))
    } else {
      mustSucceed(await moveTask(tx, task, 'run_succeeded', { runId: runContext.run.id, payload }))
    }
  })
  runContext.context.at('run-finished')
}

/** Stores the limit for the account, so that no other run on the same account is launched into it. */
const storeAccountLimit = async (
  tx: Queryable,
  { context, task, run }: RunContext,
  { until, diagnosis }: { until: Date; diagnosis: Diagnosis },
): Promise<void> => {
  const account = accountFor(context, run.harness)
  const harnesses = harnessesOnAccount(context, account)
  const limit = { account, harnesses, evidence: diagnosis.evidence, until, taskId: task.id, runId: run.id }
  await limitAccount(tx, limit, run.goalId)
}

/** Ends the run with a persisted wait; the task is requeued when the time has come, also after a restart. */
export const endWaiting = async (runContext: RunContext, decision: ChosenRecovery<ActionOf<'wait'>>): Promise<void> => {
  const { action } = decision.step
  const { context } = runContext
  const parks = action.name === 'WAIT_FOR_QUOTA'
  await context.db.transaction(async (tx) => {
    const why = `the run failed again: ${decision.diagnosis.evidence}`
    await failAttemptRecoveries(tx, runContext.task.id, why, { unchecked: action.forChecks === true })
    await recordIntent(context, tx, runContext.run, decision)
    await closeRun(tx, runContext, 'failed', errorMetaOf(decision.diagnosis))
    const now = await storeNow(tx)
    const at = waitEndsAt(action, now)
    const reason = parks ? 'quota_wait' : decision.diagnosis.label
    const retry = { reason, at, count: action.count, limit: action.limit }
    if (parks)
      await storeAccountLimit(tx, runContext, {
        until: waitEndsAt({ ...action, jitterMs: 0 }, now),
        diagnosis: decision.diagnosis,
      })
    mustSucceed(
      await moveTask(tx, await freshTask(tx, runContext), parks ? 'quota_reached' : 'run_failed', {
        runId: runContext.run.id,
        retry,
        payload: {
          failureCode: decision.diagnosis.failureCode,
          evidence: decision.diagnosis.evidence,
          retryAt: at.toISOString(),
          count: action.count,
          limit: action.limit,
        },
      }),
    )
  })
  if (parks) await publishLimits(context)
  context.at('recovery-intended')
}

/**
 * Requeues the task at once for another harness, because this account is at its limit or this harness's work does not
 * pass.
 */
export const endSwitched = async (
  runContext: RunContext,
  decision: ChosenRecovery<ActionOf<'switch_harness'>>,
): Promise<void> => {
  const { action } = decision.step
  const { diagnosis } = decision
  const { context, run } = runContext
  await context.db.transaction(async (tx) => {
    await failAttemptRecoveries(tx, runContext.task.id, `the run failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, decision)
    await closeRun(tx, runContext, 'failed', errorMetaOf(diagnosis))
    const { harness, delayMs, until } = action
    if (delayMs !== undefined) {
      const limit = { delayMs, ...defined({ until }) }
      await storeAccountLimit(tx, runContext, { until: waitEndsAt(limit, await storeNow(tx)), diagnosis })
    }
    const payload = { reason: 'harness_switched', harness, before: run.harness, evidence: diagnosis.evidence }
    mustSucceed(
      await moveTask(tx, await freshTask(tx, runContext), 'harness_switched', { runId: run.id, harness, payload }),
    )
  })
  context.at('recovery-intended')
}

/**
 * The account reached its limit between claim and launch. The task goes back to the queue and is claimed after the
 * reset. Nothing was tried, so open recoveries stay open.
 */
export const endAccountLimited = async (runContext: RunContext, { account, until }: AccountLimit): Promise<void> => {
  const reason = `account ${account} is at its limit until ${until.toISOString()}`
  const errorMeta: ErrorMeta = {
    ...{ source: 'engine', failureCode: 'account_limited', message: reason, evidence: reason },
    signature: 'account_limited',
  }
  await runContext.context.db.transaction(async (tx) => {
    await closeRun(tx, runContext, 'interrupted', errorMeta)
    const task = await freshTask(tx, runContext)
    const runId = runContext.run.id
    // The queue waits for the account of the task's harness. A role of a loop may have another one.
    const isOfTask = runContext.run.harness === task.harness
    const retry = { reason: 'quota_wait', at: until, count: 1, limit: 1 }
    mustSucceed(
      isOfTask
        ? await moveTask(tx, task, 'interrupted', { runId, payload: { reason } })
        : await moveTask(tx, task, 'quota_reached', {
            ...{ runId, retry },
            payload: { reason, evidence: reason, retryAt: until.toISOString() },
          }),
    )
  })
}

/**
 * The goal was paused before the agent was started or restarted. The task goes back to the queue and is claimed after
 * the goal is resumed.
 */
export const endPaused = async (runContext: RunContext): Promise<void> => {
  const reason = `goal ${runContext.goal.id} is ${runContext.goal.state}`
  await runContext.context.db.transaction(async (tx) => {
    const errorMeta: ErrorMeta = {
      source: 'person',
      failureCode: 'paused',
      message: reason,
      evidence: reason,
      signature: 'paused',
    }
    await failOpenRecoveries(tx, runContext.task.id, reason)
    await closeRun(tx, runContext, 'interrupted', errorMeta)
    mustSucceed(
      await moveTask(tx, await freshTask(tx, runContext), 'interrupted', {
        runId: runContext.run.id,
        payload: { reason },
      }),
    )
  })
}

/** A person cancelled the run: its task is cancelled too. */
export const endCancelled = async (runContext: RunContext): Promise<void> => {
  await runContext.context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, runContext.task.id, 'the task was cancelled')
    await closeProposals(tx, runContext.task.id, 'cancel', ['open', 'approved'])
    await closeRun(tx, runContext, 'cancelled', cancellation)
    mustSucceed(await moveTask(tx, await freshTask(tx, runContext), 'cancelled', { runId: runContext.run.id }))
  })
}

/** Logs an unexpected error with its stack, for callers that end the session because of it. */
export const logUnexpectedError = (context: Context, runContext: RunContext, error: unknown): void =>
  context.log.error(
    { run: runContext.run.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) },
    'a run ended unexpectedly',
  )
