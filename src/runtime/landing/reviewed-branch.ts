/**
 * A reviewed branch with a new commit. That is a new fact, so it outranks a question about the old commit and a reviewer that is to be
 * asked about it again; work that is being judged or merged is left alone.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import type { TaskReview } from '../../domain/task-review.ts'
import { mustSucceed } from '../../store/db.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { getGoal, lockGoal } from '../../store/goal.ts'
import { judgementOfRun, withdrawJudgement } from '../../store/judgement.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { Context } from '../core/context.ts'
import { branchRef, localHead } from '../core/review-head.ts'
import { reopenGoal } from '../people/commands.ts'
import { readReviewFacts } from '../run/review-facts.ts'

const mayStartAgain = async (context: Context, task: Task): Promise<boolean> => {
  if (task.takenOver !== null) return false
  if (task.status === 'blocked(awaiting_judge)') {
    const { judged } = await readReviewFacts(context, context.db, task, task.status)
    if (judged?.state !== 'pending' || judged.run.judgedAt === null) return true
    return (await judgementOfRun(context.db, judged.run.id))?.state === 'waiting'
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

export interface Followed {
  task: Task
  goal: Goal
  review: Extract<TaskReview, { branch: string }>
}

/** Undefined = a new commit would change nothing about it now. */
export const followedOf = async ({ db }: Context, task: Task): Promise<Followed | undefined> => {
  const { review } = task
  if (review === null || !('branch' in review) || !movedStatuses.includes(task.status)) return undefined
  const goal = await getGoal(db, task.goalId)
  return goal?.state === 'active' || goal?.state === 'awaiting_human' ? { task, goal, review } : undefined
}

/** Starts the review again if its branch moved. `onRemote`: the branches of the git remote, for a goal of one. */
export const startOnNewCommit = async (
  context: Context,
  { task, goal, review }: Followed,
  onRemote: Refs,
): Promise<boolean> => {
  const { branch } = review
  const head = goal.repoMode === 'remote' ? onRemote[branchRef(branch)] : await localHead(context, branch)
  if (head === undefined || head === review.head || !(await mayStartAgain(context, task))) return false
  await startAgain(context, task, { ...review, head })
  return true
}
