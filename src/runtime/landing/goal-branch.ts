/** Texts for people about the goal branch: the command that lands it, and whether something moved it. */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'

/** The command that lands a ready goal on the user's branch; a goal that was started on no branch has to be told which. */
export const landCommand = (goal: Pick<Goal, 'id' | 'targetBranch'>): string =>
  goal.targetBranch === null ? `unstuck land ${goal.id} --into <branch>` : `unstuck land ${goal.id}`

/** Reads which branches exist. Called only for goals that were started on no branch. */
export type FindBranches = () => Promise<ReadonlySet<string>>

export const findBranches =
  ({ ports, repository }: Pick<Context, 'repository' | 'ports'>): FindBranches =>
  async () => {
    try {
      return new Set(Object.keys(await ports.git.readRefs(repository, 'refs/heads/')))
    } catch {
      return new Set() // no repository, no branches
    }
  }

/** As `landCommand`; null for a goal that was started on no branch and whose own branch is missing. */
export const usableLandCommand = (
  goal: Pick<Goal, 'id' | 'branchPrefix' | 'targetBranch'>,
  present: ReadonlySet<string>,
): string | null => (goal.targetBranch !== null || present.has(goalRef(goal)) ? landCommand(goal) : null)

const stuckStates = new Set<Goal['state']>(['awaiting_human', 'paused', 'failed', 'cancelled'])

/** The command that lands what is done of a goal that does not go on by itself; null where nothing is done that has not landed. */
export const partCommand = (goal: Goal, tasks: readonly Pick<Task, 'status'>[]): string | null => {
  if (!stuckStates.has(goal.state) || goal.repoMode === 'direct' || goal.landing.part === true) return null
  if (goal.headCommit === null || goal.headCommit === goal.baseCommit || goal.headCommit === goal.landing.partHead)
    return null
  return tasks.some(({ status }) => status === 'done') ? `${landCommand(goal)} --done` : null
}

/** The commits of the branches of these goals, and of other goals with the same prefixes. */
export const goalRefs = async (
  ports: Pick<Context['ports'], 'git'>,
  repository: Repository,
  goals: readonly Goal[],
): Promise<Record<string, string>> => {
  const prefixes = [...new Set(goals.map(({ branchPrefix }) => branchPrefix))]
  const found = await Promise.all(prefixes.map((prefix) => ports.git.readRefs(repository, `refs/heads/${prefix}goal/`)))
  return Object.assign({}, ...found) as Record<string, string>
}

/** Shown instead of the command. */
export const missingBranchText = (goal: Pick<Goal, 'id' | 'branchPrefix'>): string =>
  `its branch ${goalBranch(goal)} is missing; the engine restores it or asks you`

/** Whether something other than Unstuck moved the goal branch; for `unstuck doctor`. */
export const isBranchMoved = async (context: Pick<Context, 'repository' | 'ports'>, goal: Goal): Promise<boolean> =>
  goal.headCommit !== null &&
  goal.repoMode === 'local' &&
  (await context.ports.git.readRef(context.repository, goalRef(goal))) !== goal.headCommit
