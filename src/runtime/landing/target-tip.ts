/** How a goal's branch and the tip of its target relate. */
import type { Goal } from '../../domain/goal.ts'
import type { Context } from '../core/context.ts'

/**
 * Whether moving the target from `tip` to the goal's head adds the goal's own commits and nothing else. A target that was reset to before the
 * goal's base is an ancestor of the head as well, but a fast-forward would bring back the commits that its owner took off the branch.
 */
export const addsOnlyGoal = async (
  { ports: { git }, repository }: Context,
  { baseCommit, headCommit }: Pick<Goal, 'baseCommit' | 'headCommit'>,
  tip: string,
): Promise<boolean> => {
  if (headCommit === null || !(await git.isBelow(repository, tip, headCommit))) return false
  return baseCommit === null || baseCommit === tip || git.isBelow(repository, baseCommit, tip)
}
