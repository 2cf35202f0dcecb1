/** A job: starts a review again when its branch has a new commit. */
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { reviewTasks } from '../../store/due-tasks.ts'
import type { Refs } from '../../workspace/refs.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, remoteLinkOf } from '../core/remote-link.ts'
import { branchRef } from '../core/review-head.ts'
import { followedOf, startOnNewCommit, type Followed } from '../landing/reviewed-branch.ts'

/** Also while no task reviews anything: the branch of the next one is then looked for as soon. One index shows that there is none. */
const lookSeconds = 10

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
