/**
 * The commits of a goal by URL, where the mirror has lost them: it was pruned, or removed and made again. Everything that
 * lands needs them there. They come from the goal's branch on the remote, else from the shadow; a branch that is gone over
 * there is put back by the next merge, as always.
 */
import { waitsForBranch, type Goal } from '../../domain/goal.ts'
import { goalRef, type Context } from '../core/context.ts'
import { linkOf } from '../core/remote-link.ts'
import { askAgain, BranchLostError, isBranchRested, noteMended } from './broken-branch.ts'
import { headOf } from './landing.ts'

const bringHead = async (context: Context, goal: Goal): Promise<void> => {
  const { repository, shadow, ports } = context
  const to = headOf(goal)
  const has = (place: typeof repository | string): Promise<boolean> =>
    ports.git.isCommitOf(place, { commit: to, below: null, not: null })
  await linkOf(context).see([goalRef(goal.id)])
  if (await has(repository)) return
  if (!(await has(shadow.gitDir)))
    throw new BranchLostError(`commit ${to} is neither on the remote nor in Unstuck's own copies`)
  await ports.git.bringObjects(repository, shadow, { from: null, to })
}

export const guardHead = async (context: Context, goal: Goal): Promise<void> => {
  const { broken } = goal.landing
  if (broken?.again === true) return
  const commit = headOf(goal)
  const isHere = await context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })
  if (!isHere) {
    if (waitsForBranch(goal)) return goal.state === 'paused' ? undefined : askAgain(context, goal.id)
    if (linkOf(context).restMs() > 0 || !(await isBranchRested(context, goal))) return
    await bringHead(context, goal)
  }
  if (broken !== null) await noteMended(context, goal.id)
}
