/** A job of the leader: removes the branches of goals that have ended, and the trees of those that have landed. */
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { forgetLeftovers, goalsWithDueLeftovers, setLeftovers } from '../../store/goal-leftover.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { endGoalBranch } from '../landing/end-goal-branch.ts'
import { dropLandedTrees } from './landed-trees.ts'
import { arePackagesGone } from './retention.ts'

/** Seconds until the next look: while something of the goal is ending, and while a person or other work uses its branch. */
const soon = 2
const later = 600

/** Milliseconds after which a run that could not be released counts as ended all the same. */
const releaseMs = 60_000

const isOver = (context: Context, { id, endedAt }: Run): boolean =>
  arePackagesGone(context, id) || (endedAt !== null && context.clock.now().getTime() - endedAt.getTime() > releaseMs)

/** Returns after how many seconds to look again; undefined = nothing is left, or what is left stays. */
const endOne = async (context: Context, goal: Goal): Promise<number | undefined> => {
  const treesGone = goal.state !== 'done' || (await dropLandedTrees(context, goal, (run) => isOver(context, run)))
  const branch = await endGoalBranch(context, goal)
  if (!treesGone) return soon
  return branch.kind === 'kept' && branch.passing ? later : undefined
}

/** Each goal by itself: what cannot be removed now (a mount, an unreachable remote) must not hold up the others. */
export const endGoals = async (context: Context): Promise<void> => {
  for (const goal of await goalsWithDueLeftovers(context.db)) {
    if (context.stopping.aborted) return
    const seconds = await endOne(context, goal).catch((error: unknown) => {
      if (endsPass(context, error)) throw error
      if (!(error instanceof StaleError))
        context.log.warn({ goal: goal.id, error: messageOf(error) }, 'what an ended goal left could not be removed yet')
      return later
    })
    if (seconds === undefined) await forgetLeftovers(context.db, goal.id)
    else await setLeftovers(context.db, goal.id, seconds)
  }
}
