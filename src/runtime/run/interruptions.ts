/** Runs that end early: interrupted without a fault of the task (lost shim, reboot, engine gone), or cancelled by a person meanwhile. */
import { taskName } from '../../domain/task-title.ts'
import type { ErrorMeta, Run } from '../../domain/run.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { getGoal, progressGoal } from '../../store/goal.ts'
import { finishRun, listRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { cancelChoice, retryChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'
import { closeProposals } from '../../store/recovery-proposal.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { questionWithTried } from '../core/tried.ts'

/**
 * Interruptions without a fault of the task (lost shim, reboot) requeue it. After this many in one retry budget a
 * person is asked.
 */
const interruptionLimit = 3

const interruption = (reason: string): ErrorMeta => ({
  source: 'engine',
  failureCode: 'interrupted',
  message: reason,
  evidence: reason,
  signature: 'interrupted',
})

/** The stored reason of a run that a person cancelled. */
export const cancellation: ErrorMeta = {
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
  const ended = mustSucceed(await finishRun(tx, run, trigger, meta))
  await progressGoal(tx, run.goalId, { spend: ended.spend })
  if (isCancelled) {
    await failOpenRecoveries(tx, task.id, 'the task was cancelled')
    await closeProposals(tx, task.id, 'cancel', ['open', 'approved'])
  }
  if (isCancelled || earlier.length < interruptionLimit) {
    mustSucceed(await moveTask(tx, task, trigger, { runId: run.id, payload: { reason } }))
    return ended
  }
  mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason } }))
  const happened = `${taskName(task)} was interrupted ${earlier.length + 1} times: ${reason}.`
  const tried = [`restarted the attempt ${earlier.length} times, with the same result`]
  await openEscalation(tx, {
    id: context.newId('q'),
    goalId: run.goalId,
    taskId: task.id,
    runId: run.id,
    kind: 'exhausted',
    ...{ question: questionWithTried(happened, tried), happened, tried },
    details: `The output of the last attempt: unstuck logs ${run.id}. The whole story: unstuck explain ${task.id}`,
    choices: [retryChoice(task.id), cancelChoice(task.id)],
  })
  return ended
}

/**
 * The run was interrupted without a fault of its own: its task is requeued, or a person is asked after repeated
 * interruptions.
 */
export const endInterrupted = async (runContext: RunContext, reason: string): Promise<void> => {
  runContext.run = await runContext.context.db.transaction((tx) =>
    interruptRun(runContext.context, tx, runContext.run, reason),
  )
}
