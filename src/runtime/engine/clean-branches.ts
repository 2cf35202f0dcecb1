/** For `unstuck clean`: the branches of all goals that have ended, also of those that ended before their branches were removed by themselves. */
import { isGoalBranch, type Goal } from '../../domain/goal.ts'
import { getGoal } from '../../store/goal.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { branchEndOf, endGoalBranch, type BranchEnd } from '../landing/end-goal-branch.ts'

/** Ended goals of which a branch is there; a branch without a goal in this store belongs to another one. */
const endedGoals = async (context: Context): Promise<Goal[]> => {
  const { ports, repository, remote, db } = context
  const refs =
    remote === undefined ? await ports.git.readRefs(repository, 'refs/heads/') : await remote.list('refs/heads')
  const goals: Goal[] = []
  for (const ref of Object.keys(refs).filter(isGoalBranch)) {
    const goal = await getGoal(db, ref.slice(ref.lastIndexOf('/') + 1))
    if (goal !== undefined && goalRef(goal) === ref && (goal.state === 'done' || goal.state === 'cancelled'))
      goals.push(goal)
  }
  return goals
}

export interface EndedBranch {
  branch: string
  end: Exclude<BranchEnd, { kind: 'absent' }>
}

/** Removes what may go; with `dryRun` nothing. Returns each branch with what becomes of it. */
export const endedBranches = async (context: Context, dryRun: boolean): Promise<EndedBranch[]> => {
  const found: EndedBranch[] = []
  for (const goal of await endedGoals(context)) {
    const end = dryRun ? await branchEndOf(context, goal) : await endGoalBranch(context, goal)
    if (end.kind !== 'absent') found.push({ branch: goalBranch(goal), end })
  }
  return found
}
