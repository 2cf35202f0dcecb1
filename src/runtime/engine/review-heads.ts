/**
 * Starts a review again when its branch has a new commit: by a job, and before its reviewer is asked again. A new commit is a new fact, so
 * it outranks a question about the old one and a reviewer that waits; work that is being judged or merged is left alone.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import type { TaskReview } from '../../domain/task-review.ts'
import { messageOf } from '../../errors.ts'
import { mustSucceed, StaleError } from '../../store/db.ts'
import { reviewTasks } from '../../store/due-tasks.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { getGoal, lockGoal } from '../../store/goal.ts'
import { judgementOfRun, withdrawJudgement } from '../../store/judgement.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, remoteLinkOf } from '../core/remote-link.ts'
import { branchRef, localHead } from '../core/review-head.ts'
import { reopenGoal } from '../people/commands.ts'
import { readReviewFacts } from '../run/review-facts.ts'

/** Also while no task reviews anything: the branch of the next one is then looked for as soon. One index shows that there is none. */
const lookSeconds = 10

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

interface Followed {
  task: Task
  goal: Goal
  review: Extract<TaskReview, { branch: string }>
}

/** Undefined = a new commit would change nothing about it now. */
const followedOf = async ({ db }: Context, task: Task): Promise<Followed | undefined> => {
  const { review } = task
  if (review === null || !('branch' in review) || !movedStatuses.includes(task.status)) return undefined
  const goal = await getGoal(db, task.goalId)
  return goal?.state === 'active' || goal?.state === 'awaiting_human' ? { task, goal, review } : undefined
}

/** Starts the review again if its branch moved. `onRemote`: the branches of the git remote, for a goal of one. */
const startOnNewCommit = async (
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

/**
 * Whether the branch that this task reviews has a newer commit, which is reviewed instead. The job comes every few seconds, and an approval
 * of the old commit would land it. The branches of a git remote are left to the job: this would be an exchange for each claim.
 */
export const isReviewOutdated = async (context: Context, taskId: string): Promise<boolean> => {
  const task = await getTask(context.db, taskId)
  const followed = task === undefined ? undefined : await followedOf(context, task)
  return followed !== undefined && (await startOnNewCommit(context, followed, {}))
}

/** `work` is about one task, or one exchange: what is wrong with it must not stop the others. */
const orReport = async <T>(context: Context, about: object, work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    if (endsPass(context, error)) throw error
    if (!(error instanceof StaleError) && !isOutage(error))
      context.log.error({ ...about, error: messageOf(error) }, 'the branch of a review could not be read')
    return undefined
  }
}

/** One exchange for the branches of all reviews, and none while the remote is to be left alone. */
const remoteHeads = async (context: Context, followed: readonly Followed[]): Promise<Refs> => {
  const refs = new Set(
    followed.filter(({ goal }) => goal.repoMode === 'remote').map(({ review }) => branchRef(review.branch)),
  )
  if (refs.size === 0) return {}
  const link = remoteLinkOf(context)
  return link.waitMs() > 0 ? {} : link.fetchRefs([...refs])
}

export const followReviewedBranches = async (context: Context): Promise<number> => {
  const followed: Followed[] = []
  for (const task of await reviewTasks(context.db)) {
    const found = await followedOf(context, task)
    if (found !== undefined) followed.push(found)
  }
  const onRemote = (await orReport(context, {}, () => remoteHeads(context, followed))) ?? {}
  let moved = false
  for (const each of followed)
    if (await orReport(context, { task: each.task.id }, () => startOnNewCommit(context, each, onRemote))) moved = true
  // The loop does not wait for this job, and is not woken by what its own engine stores.
  if (moved) context.wake()
  return lookSeconds
}
