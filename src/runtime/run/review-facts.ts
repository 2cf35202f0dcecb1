/** Reads from the store what decides how a task continues that is, or should be, before the judge. */
import { taskEnded, type Task } from '../../domain/task.ts'
import { reviewCauses, type ReviewFacts } from '../../recovery/review-requeue.ts'
import type { Queryable } from '../../store/db.ts'
import { pendingEscalationOf } from '../../store/escalation.ts'
import { childOf, requeuesOf } from '../../store/requeue.ts'
import { judgedRunOf, type JudgedRun } from '../../store/judged-run.ts'
import type { Context } from '../core/context.ts'

export interface ReadReview {
  facts: ReviewFacts
  judged: JudgedRun | undefined
}

export const readReviewFacts = async (
  context: Pick<Context, 'config'>,
  db: Queryable,
  task: Task,
  status: ReviewFacts['status'],
): Promise<ReadReview> => {
  const judged = await judgedRunOf(db, task, context.config().requeue.blockedSeconds)
  const isAsked = (await pendingEscalationOf(db, task.id)) !== undefined
  const child = await childOf(db, task.id)
  const past = await requeuesOf(db, task.id)
  const restored = past.filter(({ cause, runId }) => cause === reviewCauses.restore && runId === judged?.run.id)
  return {
    judged,
    facts: {
      ...{ status, isReview: task.review !== null, run: isAsked ? 'pending' : (judged?.state ?? 'none') },
      hasFix: child !== undefined && !taskEnded(child.status),
      ...{ restored: restored.length, started: past.filter(({ cause }) => cause === reviewCauses.requeue).length },
    },
  }
}
