/**
 * Rebases goals whose target branch has moved and verifies their work on the new base. Runs inside the merge queue's
 * single in-flight job, so a rebase and a merge never move the same goal branch at once.
 */
import { isLanding, mayStartWork, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { getGoal, listLiveGoals } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'
import { isOutage } from '../core/remote-link.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { restartGoal } from './restart-goal.ts'
import { BranchLostError, recordBrokenBranch } from './broken-branch.ts'
import { rebaseGoal } from './goal-rebase.ts'
import { needsVerification, verifyGoal } from './goal-verify.ts'
import { isRemoteReachable } from './merge-queue.ts'
import { isLandingRetryDue, refuseLanding } from './refused-landing.ts'

/** A goal whose branch is missing can only be restarted, and only after a person chose that. */
const isOpen = (goal: Goal): boolean => mayStartWork(goal) && goal.landing.broken?.again !== false

const isWanted = async (context: Context, goal: Goal): Promise<boolean> => {
  const { broken, outdated, unverified } = goal.landing
  if (!isOpen(goal)) return false
  if (broken !== null || outdated) return true
  return unverified && needsVerification(goal, await listTasks(context.db, goal.id))
}

/**
 * Another goal that is landing on the same target moves it. A rebase done now would be outdated at once, so this goal
 * waits.
 */
const landsFirst = (other: Goal, goal: Goal): boolean =>
  other.id !== goal.id && other.targetBranch === goal.targetBranch && isLanding(other)

/** Rebases until no more work is sent back, then verifies. No run of the goal starts before this ends. */
const updateGoal = async (context: Context, id: string): Promise<void> => {
  for (let hasMore = true; hasMore && !context.stopping.aborted;) {
    const goal = await getGoal(context.db, id)
    if (goal === undefined || !isOpen(goal)) return
    if (goal.landing.broken?.again === true) hasMore = await restartGoal(context, goal)
    else hasMore = await (goal.landing.outdated ? rebaseGoal(context, goal) : verifyGoal(context, goal))
  }
}

const isDue = async (context: Context, goal: Goal, goals: readonly Goal[]): Promise<boolean> =>
  (await isWanted(context, goal)) &&
  !goals.some((other) => landsFirst(other, goal)) &&
  (await isLandingRetryDue(context, goal)) &&
  (await isRemoteReachable(context, goal))

const recordFailure = async (context: Context, { id }: Goal, error: unknown): Promise<void> => {
  // Another writer changed the goal at the same moment; the next pass reads its new state.
  if (isOutage(error) || error instanceof StaleError) return
  const detail = messageOf(error)
  context.log.error({ goal: id, error: detail }, 'a goal could not be rebased onto its target, or verified there')
  await context.ports.processes.sweep(`${id}-check`)
  const goal = await getGoal(context.db, id)
  if (goal === undefined) return
  if (error instanceof BranchLostError) await recordBrokenBranch(context, id, { reason: 'lost', detail })
  else if (goal.landing.broken !== null) await recordBrokenBranch(context, id, { reason: 'failed', detail })
  else await refuseLanding(context, goal, { reason: 'git-failed', detail, paths: [] })
}

/** Updates every goal that needs it, one after the other. A goal that fails does not stop the others. */
export const updateOutdatedGoals = async (context: Context): Promise<void> => {
  const goals = await listLiveGoals(context.db)
  for (const goal of goals) {
    if (context.stopping.aborted) return
    try {
      if (!(await isDue(context, goal, goals))) continue
      await updateGoal(context, goal.id)
    } catch (error) {
      if (context.stopping.aborted) return
      if (endsPass(context, error)) throw error
      await recordFailure(context, goal, error)
    }
    context.wake()
  }
}
