/**
 * Lands what is done of a goal whose other tasks are not, on a person's order: as a whole goal lands, by a fast-forward or not at all. The
 * goal goes on from there.
 */
import type { Goal, LandingRefusal } from '../../domain/goal.ts'
import { isWork, type Task } from '../../domain/task.ts'
import { mustSucceed } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { moveGoal, progressGoal } from '../../store/goal.ts'
import type { Context } from '../core/context.ts'
import { refusalInQuestion } from './checkout-question.ts'
import { hasTarget, targetTip, tryForward, unlessUnreachable, type ReadTip, type Ready } from './land-goal.ts'
import { refusalText } from './refused-landing.ts'
import { fastForwardTarget } from './remote-target.ts'
import { closeSigningQuestion, isSigned } from './signed.ts'
import { addsOnlyGoal } from './target-tip.ts'

/** The order is over: a person gives it again once the reason is gone. */
export const refusePart = (context: Context, goal: Ready, refused: LandingRefusal): Promise<void> =>
  context.db.transaction(async (tx) => {
    const reason = `${refusalText(goal, refused)} --done`
    await progressGoal(tx, goal.id, { reason, landing: { part: false } })
    await appendEvent(tx, { type: 'goal.not_landed', goalId: goal.id, payload: { ...refused } })
  })

const landed = (context: Context, goal: Ready, tasks: readonly Task[]): Promise<void> => {
  const work = tasks.filter(isWork)
  const done = work.filter(({ status }) => status === 'done').length
  const detail = 'no finished work is left: it did not pass on the newer base, and is done again'
  if (done === 0) return refusePart(context, goal, { reason: 'nothing', detail, paths: [] })
  return context.db.transaction(async (tx) => {
    const payload = { branch: goal.targetBranch, commit: goal.headCommit, done, left: work.length - done }
    await progressGoal(tx, goal.id, { landing: { part: false, partHead: goal.headCommit } })
    await closeSigningQuestion(tx, goal.id)
    await appendEvent(tx, { type: 'goal.part_landed', goalId: goal.id, payload })
  })
}

/** Rebased and verified by the merge queue, which does so for active goals only. Work in progress is never moved. */
const outdate = async (context: Context, goal: Ready, tasks: readonly Task[]): Promise<void> => {
  const isWorking = tasks.some(({ status }) => status === 'running' || status === 'blocked(awaiting_judge)')
  if (goal.state === 'paused') {
    const detail = `${goal.targetBranch} has moved, and a paused goal is not rebased`
    return refusePart(context, goal, { reason: 'paused', detail, paths: [] })
  }
  const reason = isWorking
    ? `${goal.targetBranch} has moved: what is done lands when the tasks that run now have ended`
    : `${goal.targetBranch} has moved: what is done is rebased onto it and verified there`
  const payload = { reason, base: goal.baseCommit }
  if (isWorking) {
    if (goal.reason === reason) return
    return context.db.transaction(async (tx) => {
      await progressGoal(tx, goal.id, { reason })
      await appendEvent(tx, { type: 'goal.outdated', goalId: goal.id, payload })
    })
  }
  await context.db.transaction(async (tx) => {
    if (goal.state === 'awaiting_human') mustSucceed(await moveGoal(tx, goal, 'answered', reason))
    await progressGoal(tx, goal.id, { landing: { outdated: true } })
    if (goal.state === 'active') await appendEvent(tx, { type: 'goal.outdated', goalId: goal.id, payload })
  })
  context.at('goal-outdated')
  context.wake()
}

const isLandedOrAhead = async (
  context: Context,
  goal: Ready,
  tip: string,
): Promise<'landed' | 'ahead' | 'diverged'> => {
  if (await context.ports.git.isBelow(context.repository, goal.headCommit, tip)) return 'landed'
  return (await addsOnlyGoal(context, goal, tip)) ? 'ahead' : 'diverged'
}

const landPart = async (context: Context, goal: Ready, tasks: readonly Task[], tipOf: ReadTip): Promise<void> => {
  if (goal.landing.outdated || goal.landing.unverified) {
    // The merge queue could not rebase or verify it, and has said why. Kept, the order would hold the goal for ever.
    if (goal.landing.refused !== null) await progressGoal(context.db, goal.id, { landing: { part: false } })
    return
  }
  const inQuestion = await refusalInQuestion(context, goal.targetBranch)
  if (inQuestion !== undefined) return refusePart(context, goal, inQuestion)
  const tip = await targetTip(context, goal, tipOf)
  if (tip === null) {
    const detail = `the branch ${goal.targetBranch} does not exist any more`
    return refusePart(context, goal, { reason: 'branch-missing', detail, paths: [] })
  }
  const place = await isLandedOrAhead(context, goal, tip)
  if (place === 'landed') return landed(context, goal, tasks)
  if (place === 'diverged') return outdate(context, goal, tasks)
  // The merge queue signs the commits, or refuses.
  if (!(await isSigned(context, goal))) return
  const moved = goal.repoMode === 'remote' ? await fastForwardTarget(context, goal) : await tryForward(context, goal)
  context.at('goal-landed')
  if (moved.ok) return landed(context, goal, tasks)
  // The target moved at this moment; the next pass starts from its new tip.
  if (moved.reason !== 'moved' && moved.reason !== 'diverged') await refusePart(context, goal, moved)
}

/** Lands what is done if a person ordered it. Nothing is lost by an outage: the order stays until it is carried out or refused. */
export const tryLandPart = async (
  context: Context,
  goal: Goal,
  tasks: readonly Task[],
  tipOf: ReadTip,
): Promise<void> => {
  if (goal.landing.part === true && hasTarget(goal))
    await unlessUnreachable(() => landPart(context, goal, tasks, tipOf))
}
