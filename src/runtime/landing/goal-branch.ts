/** What a person is told about the goal branch: the command that lands it, and whether anything else moved it. */
import type { Goal } from '../../domain/goal.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'

/** The one command that brings a ready goal to the user's branch; where it was started on none, to the one that is checked out. */
export const landCommand = (goal: Pick<Goal, 'id' | 'targetBranch'>): string =>
  goal.targetBranch === null ? `git merge --ff-only ${goalBranch(goal.id)}` : `unstuck land ${goal.id}`

/** Reads which goal branches are there, only where a text may name one. */
export type FindBranches = () => Promise<ReadonlySet<string>>

export const findBranches =
  ({ ports, repository }: Pick<Context, 'repository' | 'ports'>): FindBranches =>
  async () => {
    try {
      return new Set(Object.keys(await ports.git.readRefs(repository, `refs/heads/${goalBranch('')}`)))
    } catch {
      return new Set() // where there is no repository there is no branch
    }
  }

/** As `landCommand`; null where it would name a branch that is not there. */
export const landCommandNow = (goal: Pick<Goal, 'id' | 'targetBranch'>, present: ReadonlySet<string>): string | null =>
  goal.targetBranch !== null || present.has(goalRef(goal.id)) ? landCommand(goal) : null

/** Said in place of the command. */
export const goneText = ({ id }: Pick<Goal, 'id'>): string =>
  `its branch ${goalBranch(id)} is not there any more; the engine brings it back, or asks you`

/** Whether anything moved the goal branch since we wrote it; used by doctor. */
export const branchMoved = async (context: Pick<Context, 'repository' | 'ports'>, goal: Goal): Promise<boolean> =>
  goal.headCommit !== null &&
  goal.repoMode === 'local' &&
  (await context.ports.git.readRef(context.repository, goalRef(goal.id))) !== goal.headCommit
