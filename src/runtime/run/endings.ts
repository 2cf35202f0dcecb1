/**
 * How a run ends. Each ending is one transaction over run, lease, agent, task, goal and escalation; a crash can
 * therefore never leave a task without a next step.
 */
import type { AccountLimit } from '../../domain/account.ts'
import type { Goal } from '../../domain/goal.ts'
import { mayStartWork } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import type { ErrorMeta, Run, Weakening } from '../../domain/run.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { dueAt } from '../../recovery/reset-time.ts'
import { limitAccount } from '../../store/account.ts'
import { must, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { finishRun, judgeRun, listRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { accountFor, namesOn } from '../harness/accounts.ts'
import type { Context } from '../core/context.ts'
import { cancel, retry } from '../core/choices.ts'
import { heldOf, heldReason, weakenedQuestion } from '../core/weakened-question.ts'
import { blockerEventText, questionOf, type Question } from '../core/question.ts'
import type { ActionOf, Chosen, Decision } from '../core/recovery-record.ts'
import { failAttempt, failOpen, recordIntent, settleOpen } from '../core/store-record.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { Session } from '../core/session.ts'

/**
 * Interruptions without a fault of the task (lost shim, reboot) requeue it. After this many in one retry budget a
 * person is asked.
 */
export const interruptionLimit = 3

/** The stored reason of a failed run, from its diagnosis. */
export const errorMetaOf = (diagnosis: Diagnosis, extra: Partial<ErrorMeta> = {}): ErrorMeta => ({
  source: 'execution',
  failureCode: diagnosis.failureCode,
  message: `${diagnosis.label}: ${diagnosis.evidence}`,
  evidence: diagnosis.evidence,
  signature: diagnosis.signature,
  ...extra,
})

/**
 * Ends the run and its lease, frees the agent and adds to the goal's spend. The caller moves the task in the same
 * transaction.
 */
const closeRun = async (
  tx: Queryable,
  session: Session,
  trigger: 'succeeded' | 'failed' | 'interrupted' | 'cancelled',
  errorMeta: ErrorMeta | null,
): Promise<void> => {
  session.run = must(await finishRun(tx, session.run, trigger, errorMeta))
  await progressGoal(tx, session.goal.id, { spend: session.run.spend })
}

const freshTask = async (tx: Queryable, session: Session) => {
  const task = await getTask(tx, session.task.id)
  if (task === undefined) throw new Error(`task ${session.task.id} is gone from the store`)
  return task
}

/**
 * Work in place never reaches a judge, because it does not land. If it weakened checks, the task is done only after a
 * person approved that.
 */
const askAboutWeakened = async (
  tx: Queryable,
  { context, run }: Session,
  { task, held }: { task: Task; held: Weakening[] },
): Promise<void> => {
  must(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason: heldReason(held) } }))
  const tried = triedLines(await recoveriesOf(tx, task.id))
  await openEscalation(tx, { id: context.newId('q'), ...weakenedQuestion(task, run, { held, tried }) })
}

/** The run succeeded. Its task waits for the judge, or is done at once where nothing has to land. */
export const endSucceeded = async (session: Session): Promise<void> => {
  await session.context.db.transaction(async (tx) => {
    // Only a recovery that an interrupted run began can still be open here.
    await failAttempt(tx, session.task.id, 'its run was interrupted, and a later run succeeded without it')
    await closeRun(tx, session, 'succeeded', null)
    const task = await freshTask(tx, session)
    const payload = { verdict: session.run.verdict, commit: session.run.commit }
    if (session.goal.repoMode === 'direct' || session.run.verdict?.noChange === true) {
      await settleOpen(tx, session.task.id, (condition) =>
        condition.type === 'work_merges'
          ? { holds: true, detail: 'nothing was left to change on the newer base' }
          : undefined,
      )
      await judgeRun(tx, session.run.id)
      const held = heldOf(task, session.run)
      if (held.length > 0) return askAboutWeakened(tx, session, { task, held })
      must(await moveTask(tx, task, 'verdict_recorded', { runId: session.run.id, payload }))
    } else {
      must(await moveTask(tx, task, 'run_succeeded', { runId: session.run.id, payload }))
    }
    return undefined
  })
  session.context.at('run-finished')
}

const openQuestion = (tx: Queryable, session: Session, question: Question): Promise<void> =>
  openEscalation(tx, {
    id: session.context.newId('q'),
    goalId: session.goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    ...question,
  })

const pauseGoal = async (
  tx: Queryable,
  session: Session,
  { question, text }: { question: Question; text: string },
): Promise<void> => {
  const goal = (await getGoal(tx, session.goal.id)) as Goal
  if (mayStartWork(goal)) must(await moveGoal(tx, goal, 'blocked', question.happened))
  await appendEvent(tx, {
    type: 'blocker',
    goalId: goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    payload: { text, details: question.details },
  })
}

/**
 * No recovery is left: the run failed and the task waits for a person. A permission failure also pauses the goal,
 * because every other task of it would meet the same refusal.
 */
export const endExhausted = async (session: Session, decision: Decision, errorMeta: ErrorMeta): Promise<void> => {
  const { diagnosis, step } = decision
  if (step.kind !== 'exhausted') throw new Error('endExhausted needs an exhausted step')
  await session.context.db.transaction(async (tx) => {
    await failOpen(tx, session.task.id, `the run failed with: ${diagnosis.evidence}`)
    await closeRun(tx, session, 'failed', errorMeta)
    const recoveries = await recoveriesOf(tx, session.task.id)
    const question = questionOf(session, diagnosis, { ...step, recoveries })
    must(
      await moveTask(tx, await freshTask(tx, session), 'escalated', {
        runId: session.run.id,
        payload: { label: diagnosis.label, reason: step.reason },
      }),
    )
    await openQuestion(tx, session, question)
    await appendEvent(tx, {
      type: 'task.recovery_escalated',
      goalId: session.goal.id,
      taskId: session.task.id,
      runId: session.run.id,
      payload: { reason: diagnosis.failureCode, label: diagnosis.label, evidence: diagnosis.evidence },
    })
    if (step.then === 'pause_goal')
      await pauseGoal(tx, session, { question, text: blockerEventText(session, diagnosis) })
  })
}

/** Stores the limit for the account, so that no other run on the same account is launched into it. */
const storeAccountLimit = async (
  tx: Queryable,
  { context, task, run }: Session,
  { until, diagnosis }: { until: Date; diagnosis: Diagnosis },
): Promise<void> => {
  const account = accountFor(context, run.harness)
  const harnesses = namesOn(context, account)
  const limit = { account, harnesses, evidence: diagnosis.evidence, until, taskId: task.id, runId: run.id }
  await limitAccount(tx, limit, run.goalId)
}

/** Ends the run with a persisted wait; the task is requeued when the time has come, also after a restart. */
export const endWaiting = async (session: Session, decision: Chosen<ActionOf<'wait'>>): Promise<void> => {
  const { action } = decision.step
  const { context } = session
  await context.db.transaction(async (tx) => {
    await failAttempt(tx, session.task.id, `the run failed again: ${decision.diagnosis.evidence}`)
    await recordIntent(context, tx, session.run, decision)
    await closeRun(tx, session, 'failed', errorMetaOf(decision.diagnosis))
    const now = await storeNow(tx)
    const at = dueAt(action, now)
    const parks = action.name === 'WAIT_FOR_QUOTA'
    const reason = parks ? 'quota_wait' : decision.diagnosis.label
    const retry = { reason, at, count: action.count, limit: action.limit }
    if (parks)
      await storeAccountLimit(tx, session, {
        until: dueAt({ ...action, jitterMs: 0 }, now),
        diagnosis: decision.diagnosis,
      })
    must(
      await moveTask(tx, await freshTask(tx, session), parks ? 'quota_reached' : 'run_failed', {
        runId: session.run.id,
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
  context.at('recovery-intended')
}

/**
 * Requeues the task at once for another harness, because this account is at its limit or this harness's work does not
 * pass.
 */
export const endSwitched = async (session: Session, decision: Chosen<ActionOf<'switch_harness'>>): Promise<void> => {
  const { action } = decision.step
  const { diagnosis } = decision
  const { context, run } = session
  await context.db.transaction(async (tx) => {
    await failAttempt(tx, session.task.id, `the run failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, decision)
    await closeRun(tx, session, 'failed', errorMetaOf(diagnosis))
    const { harness, delayMs, until } = action
    if (delayMs !== undefined) {
      const limit = { delayMs, ...(until === undefined ? {} : { until }) }
      await storeAccountLimit(tx, session, { until: dueAt(limit, await storeNow(tx)), diagnosis })
    }
    const payload = { reason: 'harness_switched', harness, before: run.harness, evidence: diagnosis.evidence }
    must(await moveTask(tx, await freshTask(tx, session), 'harness_switched', { runId: run.id, harness, payload }))
  })
  context.at('recovery-intended')
}

/**
 * The account reached its limit between claim and launch. The task goes back to the queue and is claimed after the
 * reset. Nothing was tried, so open recoveries stay open.
 */
export const endHeld = async (session: Session, { account, until }: AccountLimit): Promise<void> => {
  const reason = `account ${account} is at its limit until ${until.toISOString()}`
  const errorMeta: ErrorMeta = {
    ...{ source: 'engine', failureCode: 'account_limited', message: reason, evidence: reason },
    signature: 'account_limited',
  }
  await session.context.db.transaction(async (tx) => {
    await closeRun(tx, session, 'interrupted', errorMeta)
    must(
      await moveTask(tx, await freshTask(tx, session), 'interrupted', { runId: session.run.id, payload: { reason } }),
    )
  })
}

const interruption = (reason: string): ErrorMeta => ({
  source: 'engine',
  failureCode: 'interrupted',
  message: reason,
  evidence: reason,
  signature: 'interrupted',
})

const cancellation: ErrorMeta = {
  source: 'person',
  failureCode: 'cancelled',
  message: 'cancelled by a person',
  evidence: '',
  signature: 'cancelled',
}

/**
 * Ends an interrupted run: the attempt does not count and the task is requeued, unless interruptions repeat. A run
 * that a person asked to end is cancelled instead.
 */
export const interruptRun = async (context: Context, tx: Queryable, run: Run, reason: string): Promise<Run> => {
  const task = await getTask(tx, run.taskId)
  if (task === undefined) throw new Error(`task ${run.taskId} is gone from the store`)
  const isCancelled = run.stopAsked !== null || (await getGoal(tx, run.goalId))?.state === 'cancelled'
  const earlier = (await listRuns(tx, { taskId: task.id, state: 'cancelled' })).filter(
    (old) => old.epoch > task.countFromEpoch && old.errorMeta?.failureCode === 'interrupted',
  )
  const [trigger, meta] = isCancelled
    ? (['cancelled', cancellation] as const)
    : (['interrupted', interruption(reason)] as const)
  const ended = must(await finishRun(tx, run, trigger, meta))
  await progressGoal(tx, run.goalId, { spend: ended.spend })
  if (isCancelled) await failOpen(tx, task.id, 'the task was cancelled')
  if (isCancelled || earlier.length < interruptionLimit) {
    must(await moveTask(tx, task, trigger, { runId: run.id, payload: { reason } }))
    return ended
  }
  must(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason } }))
  const happened = `Task ${task.number} "${task.title}" was interrupted ${earlier.length + 1} times: ${reason}.`
  const tried = [`restarted the attempt ${earlier.length} times, with the same result`]
  await openEscalation(tx, {
    id: context.newId('q'),
    goalId: run.goalId,
    taskId: task.id,
    runId: run.id,
    kind: 'exhausted',
    ...{ question: questionWithTried(happened, tried), happened, tried },
    details: `The output of the last attempt: unstuck logs ${run.id}. The whole story: unstuck explain ${task.id}`,
    choices: [retry(task.id), cancel(task.id)],
  })
  return ended
}

/**
 * The run was interrupted without a fault of its own: its task is requeued, or a person is asked after repeated
 * interruptions.
 */
export const endInterrupted = async (session: Session, reason: string): Promise<void> => {
  session.run = await session.context.db.transaction((tx) => interruptRun(session.context, tx, session.run, reason))
}

/**
 * The goal was paused before the agent was started or restarted. The task goes back to the queue and is claimed after
 * the goal is resumed.
 */
export const endPaused = async (session: Session): Promise<void> => {
  const reason = `goal ${session.goal.id} is ${session.goal.state}`
  await session.context.db.transaction(async (tx) => {
    const errorMeta: ErrorMeta = {
      source: 'person',
      failureCode: 'paused',
      message: reason,
      evidence: reason,
      signature: 'paused',
    }
    await failOpen(tx, session.task.id, reason)
    await closeRun(tx, session, 'interrupted', errorMeta)
    must(
      await moveTask(tx, await freshTask(tx, session), 'interrupted', { runId: session.run.id, payload: { reason } }),
    )
  })
}

/** A person cancelled the run: its task is cancelled too. */
export const endCancelled = async (session: Session): Promise<void> => {
  await session.context.db.transaction(async (tx) => {
    await failOpen(tx, session.task.id, 'the task was cancelled')
    await closeRun(tx, session, 'cancelled', cancellation)
    must(await moveTask(tx, await freshTask(tx, session), 'cancelled', { runId: session.run.id }))
  })
}

/** Logs an unexpected error with its stack, for callers that end the session because of it. */
export const unexpected = (context: Context, session: Session, error: unknown): void =>
  context.log.error(
    { run: session.run.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) },
    'a run ended unexpectedly',
  )
