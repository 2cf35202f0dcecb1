/** Goals that stand on an older target than there is: rebased, then verified there. Part of the merge queue's one flight. */
import { isLanding, mayStartWork, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { isStoreTrouble, StaleError } from '../../store/db.ts'
import { getGoal, listLiveGoals } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'
import { isOutage } from '../core/remote-link.ts'
import type { Context } from '../core/context.ts'
import { rebaseGoal } from './goal-rebase.ts'
import { isToVerify, verifyGoal } from './goal-verify.ts'
import { isReachable } from './merge-queue.ts'
import { isRested, refuseLanding } from './refused-landing.ts'

const isWanted = async (context: Context, goal: Goal): Promise<boolean> =>
  mayStartWork(goal) &&
  (goal.landing.outdated || (goal.landing.unverified && isToVerify(goal, await listTasks(context.db, goal.id))))

/** What lands first moves the target: whoever is brought up beside it would be outrun. */
const goesFirst = (other: Goal, goal: Goal): boolean =>
  other.id !== goal.id && other.targetBranch === goal.targetBranch && isLanding(other)

/** Rebased as often as work of it is sent back, then verified: nothing of the goal starts before that. */
const bringUp = async (context: Context, id: string): Promise<void> => {
  for (let goesOn = true; goesOn && !context.stopping.aborted;) {
    const goal = await getGoal(context.db, id)
    if (goal === undefined || !mayStartWork(goal)) return
    goesOn = await (goal.landing.outdated ? rebaseGoal(context, goal) : verifyGoal(context, goal))
  }
}

export const bringUpAll = async (context: Context): Promise<void> => {
  const goals = await listLiveGoals(context.db)
  for (const goal of goals) {
    if (context.stopping.aborted) return
    if (!(await isWanted(context, goal)) || goals.some((other) => goesFirst(other, goal))) continue
    if (!(await isRested(context, goal)) || !(await isReachable(context, goal))) continue
    try {
      await bringUp(context, goal.id)
    } catch (error) {
      if (context.stopping.aborted) return
      if (isStoreTrouble(error) || error instanceof StaleError) throw error
      if (isOutage(error)) continue
      const detail = messageOf(error)
      context.log.error({ goal: goal.id, error: detail }, 'a goal could not be brought onto its target')
      await context.ports.processes.sweep(`${goal.id}-check`)
      await refuseLanding(context, goal, { reason: 'git-failed', detail, paths: [] })
    }
    context.wake()
  }
}
