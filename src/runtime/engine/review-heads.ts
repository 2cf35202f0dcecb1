/**
 * A job: starts a review again when its branch has a new commit. That is a new fact, so it outranks a question about the old commit; work
 * that is being judged or merged is left alone.
 */
import type { Task } from '../../domain/task.ts'
import type { TaskReview } from '../../domain/task-review.ts'
import { messageOf } from '../../errors.ts'
import { mustSucceed, StaleError } from '../../store/db.ts'
import { reviewTasks } from '../../store/due-tasks.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { getGoal, lockGoal } from '../../store/goal.ts'
import { withdrawJudgement } from '../../store/judgement.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage } from '../core/remote-link.ts'
import { branchHead } from '../core/review-head.ts'
import { reopenGoal } from '../people/commands.ts'
import { readReviewFacts } from '../run/review-facts.ts'

/** Also while no task reviews anything: the branch of the next one is then looked for as soon. */
const lookSeconds = 10

const mayStartAgain = async (context: Context, task: Task): Promise<boolean> => {
  if (task.takenOver !== null) return false
  if (task.status === 'blocked(awaiting_judge)') {
    const { judged } = await readReviewFacts(context, context.db, task, task.status)
    return judged?.state !== 'pending' || judged.run.judgedAt === null
  }
  if (task.status !== 'blocked(needs_rework)') return true
  return !(await readReviewFacts(context, context.db, task, task.status)).facts.hasFix
}

const movedStatuses: readonly Task['status'][] = [
  ...(['failed', 'blocked(needs_rework)', 'blocked(awaiting_judge)', 'blocked(awaiting_human)'] as const),
]

const startAgain = (context: Context, seen: Task, review: TaskReview): Promise<void> =>
  context.db.transaction(async (tx) => {
    await lockGoal(tx, seen.goalId)
    const task = await getTask(tx, seen.id)
    if (task?.version !== seen.version) return
    const question = await pendingEscalationOf(tx, task.id)
    if (question !== undefined) mustSucceed(await answerEscalation(tx, question, 'overtaken'))
    await withdrawJudgement(tx, task.id, 'the branch has a new commit')
    const payload = { reason: 'review_head_moved', before: seen.review?.head ?? null, head: review.head }
    // What failed was another commit, so the counts begin again.
    mustSucceed(await moveTask(tx, task, 'head_moved', { review, payload, resetBudget: true }))
    await reopenGoal(tx, task.goalId)
  })

const follow = async (context: Context, task: Task): Promise<void> => {
  const { review } = task
  if (review === null || !('branch' in review) || !movedStatuses.includes(task.status)) return
  const goal = await getGoal(context.db, task.goalId)
  if (goal === undefined || (goal.state !== 'active' && goal.state !== 'awaiting_human')) return
  const head = await branchHead(context, goal, review.branch)
  if (head === undefined || head === review.head || !(await mayStartAgain(context, task))) return
  await startAgain(context, task, { ...review, head })
}

export const followReviewedBranches = async (context: Context): Promise<number> => {
  const tasks = await reviewTasks(context.db)
  for (const task of tasks) {
    try {
      await follow(context, task)
    } catch (error) {
      if (endsPass(context, error)) throw error
      if (!(error instanceof StaleError) && !isOutage(error))
        context.log.error({ task: task.id, error: messageOf(error) }, 'the branch of a review could not be read')
    }
  }
  return lookSeconds
}
