/**
 * A finished goal on its way to the user's branch: by a fast-forward or not at all. Where the branch has moved on meanwhile the
 * goal goes back to work, is rebased and verified again, and comes here once more.
 */
import { isToLand, type Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { must } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { moveGoal, progressGoal } from '../../store/goal.ts'
import { confirmLead } from '../../store/leader.ts'
import type { FastForward } from '../../workspace/contract.ts'
import type { Context } from '../core/context.ts'
import { isOutage, isRefusal } from '../core/remote-link.ts'
import { refuseLanding } from './refused-landing.ts'
import { acceptedText, whyNotByItself } from './still-red.ts'
import { forwardTarget, isOnTarget, tipOnRemote } from './remote-target.ts'

/** If the target keeps moving while the goal is verified again, it stays ready after this many tries. */
const outrunLimit = 5

/** What was seen at the last look at a goal. Only saves git calls; losing it costs nothing. */
export interface Look {
  /** Milliseconds. */
  at: number
  /** Tip of the target branch, which did not hold the goal's commits. */
  without?: string
  /** Tip and head of which the second holds the first. */
  within?: string
  /** What went wrong then. */
  failed?: string
}

/** Goal id -> its last look. */
export type Looked = Map<string, Look>

/** Tips of target branches in one pass: many goals have one target, and each git call is a process. */
export type TipOf = (branch: string) => Promise<string | null>

export const tipsOfPass = (context: Context): TipOf => {
  const read = new Map<string, Promise<string | null>>()
  return (branch) => {
    const tip = read.get(branch) ?? context.ports.git.readRef(context.repository, `refs/heads/${branch}`)
    read.set(branch, tip)
    return tip
  }
}

export const lookOf = (looked: Looked, goal: Goal): Look => {
  const look = looked.get(goal.id) ?? { at: 0 }
  looked.set(goal.id, look)
  return look
}

type Ready = Goal & { headCommit: string; targetBranch: string }

const hasTarget = (goal: Goal): goal is Ready => goal.headCommit !== null && goal.targetBranch !== null

const isLanded = async (context: Context, goal: Ready, look: Look, tipOf: TipOf): Promise<boolean> => {
  if (goal.repoMode === 'remote') return isOnTarget(context, goal)
  const tip = await tipOf(goal.targetBranch)
  if (tip === null || tip === look.without) return false
  if (await context.ports.git.isBelow(context.repository, goal.headCommit, tip)) return true
  look.without = tip
  return false
}

/** A git failure is a refusal with its text: thrown on, it would end the pass for every other goal, and be told to nobody. */
const tryForward = async (context: Context, branch: string, to: string): Promise<FastForward> => {
  // Outside the try: one who was overtaken moves nothing, and this is no refusal of git.
  await confirmLead(context.db)
  try {
    return await context.ports.git.fastForward(context.repository, { branch, to })
  } catch (error) {
    return { ok: false, reason: 'git-failed', detail: messageOf(error), paths: [] }
  }
}

/** Back to work: the goal branch is brought onto the target's tip, or verified there, before the target moves. */
const reopen = async (context: Context, goal: Ready): Promise<void> => {
  const { tries } = goal.landing
  const { targetBranch } = goal
  if (tries >= outrunLimit) {
    const detail = `${targetBranch} moved ${tries} times while the goal was brought onto it`
    return refuseLanding(context, goal, { reason: 'outrun', detail, paths: [] })
  }
  const reason = `${targetBranch} has moved on: the goal branch is brought onto it and verified there`
  await context.db.transaction(async (tx) => {
    must(await moveGoal(tx, goal, 'outdated', reason))
    await progressGoal(tx, goal.id, { landing: { outdated: true, tries: tries + 1, refused: null } })
  })
  context.at('goal-outdated')
  context.wake()
}

const targetTip = async (context: Context, goal: Ready, tipOf: TipOf): Promise<string | null> =>
  goal.repoMode === 'remote' ? tipOnRemote(context, goal) : tipOf(goal.targetBranch)

/** It waits for a word of its owner, unless the target has moved on: what was red there may be mended. */
const hold = async (
  context: Context,
  goal: Ready,
  { held, tip }: { held: string; tip: string | null },
): Promise<void> => {
  if (tip !== null && !(await context.ports.git.isBelow(context.repository, tip, goal.headCommit)))
    return reopen(context, goal)
  await refuseLanding(context, goal, { reason: 'still-failing', detail: held, paths: [] })
}

const landGoal = async (context: Context, goal: Ready, look: Look, tipOf: TipOf): Promise<void> => {
  const landed = async (how: string): Promise<void> => {
    const reason = `${how}${await acceptedText(context, goal)}`
    await context.db.transaction((tx) => moveGoal(tx, goal, 'landed', reason))
  }
  if (await isLanded(context, goal, look, tipOf)) {
    await landed(`its commits are on ${goal.targetBranch}`)
    return
  }
  if (!isToLand(goal)) return
  if (goal.landing.unverified) return reopen(context, goal)
  const held = goal.landing.asked ? undefined : await whyNotByItself(context, goal)
  if (held !== undefined) return hold(context, goal, { held, tip: await targetTip(context, goal, tipOf) })
  const moved =
    goal.repoMode === 'remote'
      ? await forwardTarget(context, goal)
      : await tryForward(context, goal.targetBranch, goal.headCommit)
  context.at('goal-landed')
  if (moved.ok) await landed(`${goal.targetBranch} was fast-forwarded`)
  else if (moved.reason === 'diverged') await reopen(context, goal)
  // Moved at this very moment: the next look begins with where it is then.
  else if (moved.reason !== 'moved') await refuseLanding(context, goal, moved)
}

/** A remote that is away, or lets nobody in, must not end the pass for every other goal: this one is looked at again. */
const unlessAway = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    if (!isOutage(error) && !isRefusal(error)) throw error
    return undefined
  }
}

export const tryLand = async (context: Context, goal: Goal, look: Look, tipOf: TipOf): Promise<void> => {
  if (hasTarget(goal)) await unlessAway(() => landGoal(context, goal, look, tipOf))
}

/** How often a ready goal's target branch is looked at: its user merges it when it suits him. */
const landingLookMs = 10_000

/** A remote is not to be asked all the time for what only a person can change. */
const lookMsOf = (goal: Goal): number => {
  if (goal.landing.asked) return 0
  if (goal.repoMode !== 'remote') return landingLookMs
  if (!goal.autoMerge) return 6 * landingLookMs
  return goal.landing.refused === null ? landingLookMs : 60 * landingLookMs
}

const isDue = (context: Context, look: Look, everyMs: number): boolean => {
  const now = context.clock.now().getTime()
  if (now - look.at < everyMs) return false
  look.at = now
  return true
}

export const lookDue = (context: Context, look: Look, goal: Goal): boolean => {
  if (goal.repoMode === 'remote' && (context.remote?.restMs() ?? 0) > 0) return false
  return isDue(context, look, lookMsOf(goal))
}

/** Nothing of it is under way, and the next thing that happens is a new run. */
const isAboutToStart = (tasks: readonly Task[]): boolean =>
  tasks.some(({ place, ready }) => place === 'queued' && ready) &&
  !tasks.some(({ place }) => place === 'running' || place === 'blocked(awaiting_judge)')

const newerTip = async (context: Context, goal: Ready, look: Look, tipOf: TipOf): Promise<string | undefined> => {
  const isRemote = goal.repoMode === 'remote'
  if (isRemote && !lookDue(context, look, goal)) return undefined
  const tip = await targetTip(context, goal, tipOf)
  if (tip === null || tip === goal.baseCommit || look.within === `${tip} ${goal.headCommit}`) return undefined
  if (!(await context.ports.git.isBelow(context.repository, tip, goal.headCommit))) return tip
  look.within = `${tip} ${goal.headCommit}`
  return undefined
}

/**
 * A goal that begins something new begins it on what its target is now: what the user mended there meanwhile counts, and
 * less of the work meets a conflict at the end. Work that is under way is never moved.
 */
export const followTarget = async (
  context: Context,
  goal: Goal,
  tasks: readonly Task[],
  given: { look: Look; tipOf: TipOf },
): Promise<void> => {
  if (!hasTarget(goal) || goal.repoMode === 'direct' || goal.landing.outdated || goal.landing.refused !== null) return
  if (!isAboutToStart(tasks)) return
  const tip = await unlessAway(() => newerTip(context, goal, given.look, given.tipOf))
  if (tip === undefined) return
  await context.db.transaction(async (tx) => {
    await progressGoal(tx, goal.id, { landing: { outdated: true } })
    const reason = `${goal.targetBranch} has moved on: what is to begin begins there`
    await appendEvent(tx, { type: 'goal.outdated', goalId: goal.id, payload: { reason, tip, base: goal.baseCommit } })
  })
  context.at('goal-outdated')
}
