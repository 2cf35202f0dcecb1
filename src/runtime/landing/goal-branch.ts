/** What a person is told about the goal branch: the command that lands it, and whether anything else moved it. */
import type { Goal } from '../../domain/goal.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'

/** The one command that brings a ready goal to the user's branch; where it was started on none, to the one that is checked out. */
export const landCommand = (goal: Pick<Goal, 'id' | 'targetBranch'>): string =>
  goal.targetBranch === null ? `git merge --ff-only ${goalBranch(goal.id)}` : `unstuck land ${goal.id}`

/** Whether anything moved the goal branch since we wrote it; used by doctor. */
export const branchMoved = async (context: Pick<Context, 'repository' | 'ports'>, goal: Goal): Promise<boolean> =>
  goal.headCommit !== null &&
  goal.repoMode === 'local' &&
  (await context.ports.git.readRef(context.repository, goalRef(goal.id))) !== goal.headCommit
