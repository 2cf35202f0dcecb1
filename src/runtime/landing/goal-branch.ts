/** Texts for people about the goal branch: the command that lands it, and whether something moved it. */
import type { Goal } from '../../domain/goal.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'

/**
 * The command that lands a ready goal on the user's branch; for a goal without a target, on the branch that is checked
 * out.
 */
export const landCommand = (goal: Pick<Goal, 'id' | 'targetBranch'>): string =>
  goal.targetBranch === null ? `git merge --ff-only ${goalBranch(goal.id)}` : `unstuck land ${goal.id}`

/** Reads which goal branches exist. Called only where a text may name a branch. */
export type FindBranches = () => Promise<ReadonlySet<string>>

export const findBranches =
  ({ ports, repository }: Pick<Context, 'repository' | 'ports'>): FindBranches =>
  async () => {
    try {
      return new Set(Object.keys(await ports.git.readRefs(repository, `refs/heads/${goalBranch('')}`)))
    } catch {
      return new Set() // no repository, no branches
    }
  }

/** Like `landGoalCommand`; null if it would name a branch that does not exist. */
export const usableLandCommand = (
  goal: Pick<Goal, 'id' | 'targetBranch'>,
  present: ReadonlySet<string>,
): string | null => (goal.targetBranch !== null || present.has(goalRef(goal.id)) ? landCommand(goal) : null)

/** Shown instead of the command. */
export const missingBranchText = ({ id }: Pick<Goal, 'id'>): string =>
  `its branch ${goalBranch(id)} is missing; the engine restores it or asks you`

/** Whether something other than Unstuck moved the goal branch; for `unstuck doctor`. */
export const isBranchMoved = async (context: Pick<Context, 'repository' | 'ports'>, goal: Goal): Promise<boolean> =>
  goal.headCommit !== null &&
  goal.repoMode === 'local' &&
  (await context.ports.git.readRef(context.repository, goalRef(goal.id))) !== goal.headCommit
