/**
 * Restores the commits of a goal on a git remote after the local mirror lost them (pruned, or removed and made again);
 * every landing step needs them there. They come from the goal's branch on the remote, else from the shadow
 * repository. A branch that is missing on the remote is restored by the next merge.
 */
import { waitsForBranch, type Goal } from '../../domain/goal.ts'
import { goalRef, type Context } from '../core/context.ts'
import { remoteLinkOf } from '../core/remote-link.ts'
import { askAboutBranchAgain, BranchLostError, isBranchRetryDue, recordRepairedBranch } from './broken-branch.ts'
import { goalHead } from './merge-attempt.ts'

const restoreHead = async (context: Context, goal: Goal): Promise<void> => {
  const { repository, shadow, ports } = context
  const to = goalHead(goal)
  const has = (where: typeof repository | string): Promise<boolean> =>
    ports.git.isCommitOf(where, { commit: to, below: null, not: null })
  await remoteLinkOf(context).fetchRefs([goalRef(goal)])
  if (await has(repository)) return
  if (!(await has(shadow.gitDir)))
    throw new BranchLostError(`commit ${to} is neither on the remote nor in Unstuck's own copies`)
  await ports.git.bringObjects(repository, shadow, { from: null, to })
}

/** Restores the commits of one goal in the mirror, or asks a person where they are lost. */
export const restoreMirrorHead = async (context: Context, goal: Goal): Promise<void> => {
  const { broken } = goal.landing
  if (broken?.again === true) return
  const commit = goalHead(goal)
  const isHere = await context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })
  if (!isHere) {
    if (waitsForBranch(goal)) return goal.state === 'paused' ? undefined : askAboutBranchAgain(context, goal.id)
    if (remoteLinkOf(context).waitMs() > 0 || !(await isBranchRetryDue(context, goal))) return
    await restoreHead(context, goal)
  }
  if (broken !== null) await recordRepairedBranch(context, goal.id)
}
