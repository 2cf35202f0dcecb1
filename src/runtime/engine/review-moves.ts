/**
 * Carries out how a task continues that is, or should be, before the judge (src/recovery/review-requeue.ts). Each move is one transaction
 * over the task, its run and the question.
 */
import { taskName } from '../../domain/task-title.ts'
import type { Task } from '../../domain/task.ts'
import { subjectText } from '../../domain/task-review.ts'
import { chooseReviewMove, reviewCauses, type ReviewFacts, type ReviewMove } from '../../recovery/review-requeue.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { recordWatched } from '../../store/due-tasks.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { insertRequeue } from '../../store/requeue.ts'
import { restoreReview, verdictOn } from '../../store/judged-run.ts'
import { listRuns } from '../../store/run.ts'
import { moveTask, postponeTask } from '../../store/task.ts'
import { cancelChoice, retryChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import { questionWithTried } from '../core/tried.ts'
import { requeuedLines } from '../run/requeued-lines.ts'
import { readReviewFacts, type ReadReview } from '../run/review-facts.ts'
import { defined } from '../../domain/defined.ts'

interface Reviewed extends ReadReview {
  context: Context
  task: Task
}

const record = (
  { context, task, judged }: Reviewed,
  tx: Queryable,
  { kind, reason }: Extract<ReviewMove, { kind: keyof typeof reviewCauses }>,
): Promise<void> =>
  insertRequeue(tx, {
    ...{
      id: context.newId('rq').replace('-', '_'),
      goalId: task.goalId,
      taskId: task.id,
      runId: judged?.run.id ?? null,
    },
    // A task that never ran counts as well.
    ...{ epoch: Math.max(task.epoch, task.countFromEpoch + 1), reason, cause: reviewCauses[kind] },
    ...{ signature: '', payload: {} },
  })

const happenedText = async ({ task }: Reviewed, tx: Queryable): Promise<string> => {
  const name = taskName(task)
  const failed = (await listRuns(tx, { taskId: task.id, state: 'failed' })).at(-1)
  const last = failed?.errorMeta == null ? '' : `; its last attempt failed: ${failed.errorMeta.evidence}`
  return task.review === null
    ? `${name} waits for its review, but none of its runs can be judged or merged any more${last}.`
    : `${name} reviews ${subjectText(task.review)}, but none of its runs can be judged${last}.`
}

/** Whether a retry would be refused, because the reviewed commit has a verdict. */
const isRejected = async ({ task }: Reviewed, tx: Queryable): Promise<boolean> =>
  task.review?.head != null && (await verdictOn(tx, task, task.review.head))?.verdict === 'request_changes'

const ask = async (reviewed: Reviewed, tx: Queryable, reason: string): Promise<void> => {
  const { context, task, judged } = reviewed
  mustSucceed(await moveTask(tx, task, 'escalated', { payload: { reason } }))
  const happened = await happenedText(reviewed, tx)
  const tried = await requeuedLines(tx, task)
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: task.id, runId: judged?.run.id ?? null },
    ...{ kind: 'exhausted', happened, tried, question: questionWithTried(happened, tried) },
    details: `The decisions: unstuck explain ${task.id}`,
    choices: (await isRejected(reviewed, tx)) ? [cancelChoice(task.id)] : [retryChoice(task.id), cancelChoice(task.id)],
  })
  await appendEvent(tx, {
    type: 'task.recovery_escalated',
    ...{ goalId: task.goalId, taskId: task.id },
    payload: { reason, label: 'awaiting_judge', evidence: happened },
  })
}

const keep = async ({ context, task }: Reviewed, tx: Queryable): Promise<void> => {
  if (task.status === 'blocked(awaiting_judge)') return recordWatched(tx, task.id)
  if (task.retry === null) return undefined
  const at = new Date((await storeNow(tx)).getTime() + context.config().requeue.blockedSeconds * 1000)
  mustSucceed(await postponeTask(tx, task, { ...task.retry, at }))
  return undefined
}

const carryOut = async (reviewed: Reviewed, tx: Queryable, move: ReviewMove): Promise<void> => {
  const { task, judged } = reviewed
  if (move.kind === 'keep') return keep(reviewed, tx)
  if (move.kind === 'ask') return ask(reviewed, tx, move.reason)
  const { kind: _kind, ...payload } = move
  const runId = judged?.run.id
  const about = { ...defined({ runId }), payload: { ...payload, after: task.retry?.reason } }
  // The judge came to a verdict after all.
  if (move.kind === 'restore' && (judged === undefined || !(await restoreReview(tx, judged.run)))) return
  await record(reviewed, tx, move)
  mustSucceed(await moveTask(tx, task, move.kind === 'requeue' ? 'retry_due' : 'review_restored', about))
}

const statusOf = ({ status }: Task): ReviewFacts['status'] | undefined =>
  status === 'failed' || status === 'blocked(needs_rework)' || status === 'blocked(awaiting_judge)' ? status : undefined

/** Moves the task by the rows about reviews. False = none applies, and the task continues as any other. */
export const continueReview = async (context: Context, tx: Queryable, task: Task): Promise<boolean> => {
  const status = statusOf(task)
  if (status === undefined || (task.review === null && status !== 'blocked(awaiting_judge)')) return false
  const read = await readReviewFacts(context, tx, task, status)
  const move = chooseReviewMove(read.facts)
  if (move !== undefined) await carryOut({ context, task, ...read }, tx, move)
  return move !== undefined
}
