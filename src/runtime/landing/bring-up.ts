/** Goals that stand on an older target than there is: rebased, then verified there. Part of the merge queue's one flight. */
import { isLanding, mayStartWork, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { getGoal, listLiveGoals } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'
import { isOutage } from '../core/remote-link.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { beginAgain } from './begin-again.ts'
import { BranchLostError, noteBroken } from './broken-branch.ts'
import { rebaseGoal } from './goal-rebase.ts'
import { isToVerify, verifyGoal } from './goal-verify.ts'
import { isReachable } from './merge-queue.ts'
import { isRested, refuseLanding } from './refused-landing.ts'

/** Nothing is to be done about a goal whose branch is not there, but to begin it again where a person says so. */
const isOpen = (goal: Goal): boolean => mayStartWork(goal) && goal.landing.broken?.again !== false

const isWanted = async (context: Context, goal: Goal): Promise<boolean> => {
  const { broken, outdated, unverified } = goal.landing
  if (!isOpen(goal)) return false
  if (broken !== null || outdated) return true
  return unverified && isToVerify(goal, await listTasks(context.db, goal.id))
}

/** What lands first moves the target: whoever is brought up beside it would be outrun. */
const goesFirst = (other: Goal, goal: Goal): boolean =>
  other.id !== goal.id && other.targetBranch === goal.targetBranch && isLanding(other)

/** Rebased as often as work of it is sent back, then verified: nothing of the goal starts before that. */
const bringUp = async (context: Context, id: string): Promise<void> => {
  for (let goesOn = true; goesOn && !context.stopping.aborted;) {
    const goal = await getGoal(context.db, id)
    if (goal === undefined || !isOpen(goal)) return
    if (goal.landing.broken?.again === true) goesOn = await beginAgain(context, goal)
    else goesOn = await (goal.landing.outdated ? rebaseGoal(context, goal) : verifyGoal(context, goal))
  }
}

const isDue = async (context: Context, goal: Goal, goals: readonly Goal[]): Promise<boolean> =>
  (await isWanted(context, goal)) &&
  !goals.some((other) => goesFirst(other, goal)) &&
  (await isRested(context, goal)) &&
  (await isReachable(context, goal))

const noteFailure = async (context: Context, { id }: Goal, error: unknown): Promise<void> => {
  // Somebody changed it at the same moment; the next pass sees how it is then.
  if (isOutage(error) || error instanceof StaleError) return
  const detail = messageOf(error)
  context.log.error({ goal: id, error: detail }, 'a goal could not be brought onto its target')
  await context.ports.processes.sweep(`${id}-check`)
  const goal = await getGoal(context.db, id)
  if (goal === undefined) return
  if (error instanceof BranchLostError) await noteBroken(context, id, { reason: 'lost', detail })
  else if (goal.landing.broken !== null) await noteBroken(context, id, { reason: 'failed', detail })
  else await refuseLanding(context, goal, { reason: 'git-failed', detail, paths: [] })
}

export const bringUpAll = async (context: Context): Promise<void> => {
  const goals = await listLiveGoals(context.db)
  for (const goal of goals) {
    if (context.stopping.aborted) return
    try {
      if (!(await isDue(context, goal, goals))) continue
      await bringUp(context, goal.id)
    } catch (error) {
      if (context.stopping.aborted) return
      if (endsPass(context, error)) throw error
      await noteFailure(context, goal, error)
    }
    context.wake()
  }
}
