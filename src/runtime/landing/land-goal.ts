/**
 * Lands a finished goal on the user's branch, by a fast-forward or not at all. If the branch has moved, the goal
 * becomes active again, is rebased and verified, and then lands.
 */
import { isToLand, type Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { mustSucceed } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { moveGoal, progressGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import type { FastForward } from '../../workspace/repository-types.ts'
import type { Context } from '../core/context.ts'
import { isOutage, isRefusal } from '../core/remote-link.ts'
import { refuseLanding } from './refused-landing.ts'
import { targetCheckOf } from './target-check.ts'
import { acceptedFailuresText, autoLandBlocker } from './accepted-failures.ts'
import { refusalInQuestion } from './checkout-question.ts'
import { isWorkOn } from './goal-work.ts'
import { fastForwardTarget, isOnTarget, remoteTargetTip } from './remote-target.ts'
import { closeSigningQuestion, isSigned } from './signed.ts'
import { addsOnlyGoal } from './target-tip.ts'

/** If the target moves again after each of this many rebases, the goal stays ready and a person lands it. */
const outrunLimit = 5

/** What the last poll of a goal observed. It only saves git calls; losing it costs nothing. */
export interface TargetPoll {
  /** Milliseconds since the epoch. */
  polledAt: number
  /** Tip of the target branch that did not contain the goal's commits. */
  tipWithoutGoal?: string
  /** A pair of target tip and goal head of which the head contains the tip. */
  tipWithinHead?: string
  /** The error of the last poll, so that it is logged once. */
  lastError?: string
}

/** Goal id -> its last poll. */
export type TargetPolls = Map<string, TargetPoll>

/** Tips of target branches, cached for one pass: many goals share a target, and each git call is a process. */
export type ReadTip = (branch: string) => Promise<string | null>

/** Returns a reader of target tips that caches them for one pass. */
export const cachedTips = (context: Context): ReadTip => {
  const read = new Map<string, Promise<string | null>>()
  return (branch) => {
    const tip = read.get(branch) ?? context.ports.git.readRef(context.repository, `refs/heads/${branch}`)
    read.set(branch, tip)
    return tip
  }
}

/** The last poll of a goal; creates the entry for a goal that was never polled. */
export const targetPollOf = (polls: TargetPolls, goal: Goal): TargetPoll => {
  const poll = polls.get(goal.id) ?? { polledAt: 0 }
  polls.set(goal.id, poll)
  return poll
}

export type Ready = Goal & { headCommit: string; targetBranch: string }

export const hasTarget = (goal: Goal): goal is Ready => goal.headCommit !== null && goal.targetBranch !== null

const isLanded = async (context: Context, goal: Ready, poll: TargetPoll, tipOf: ReadTip): Promise<boolean> => {
  if (goal.repoMode === 'remote') return isOnTarget(context, goal)
  const tip = await tipOf(goal.targetBranch)
  if (tip === null || tip === poll.tipWithoutGoal) return false
  if (await isWorkOn(context, goal, tip)) return true
  poll.tipWithoutGoal = tip
  return false
}

/**
 * Turns a git failure into a refusal with its text. Thrown, it would end the pass for every other goal and reach no
 * person.
 */
export const tryForward = async (context: Context, goal: Ready): Promise<FastForward> => {
  const { targetBranch: branch, headCommit: to, baseCommit: base } = goal
  // Outside the try: losing the leadership is no refusal of git, and must end the pass.
  await confirmLeadership(context.db)
  try {
    return await context.ports.git.fastForward(context.repository, { branch, to, base })
  } catch (error) {
    return { ok: false, reason: 'git-failed', detail: messageOf(error), paths: [] }
  }
}

/**
 * Makes the goal active again: its branch is rebased onto the target's tip, or verified there, before the target
 * moves.
 */
const reopen = async (context: Context, goal: Ready): Promise<void> => {
  const { tries } = goal.landing
  const { targetBranch } = goal
  if (tries >= outrunLimit) {
    const detail = `${targetBranch} moved ${tries} times while the goal was rebased onto it`
    return refuseLanding(context, goal, { reason: 'outrun', detail, paths: [] })
  }
  const reason = `${targetBranch} has moved: the goal branch is rebased onto it and verified there`
  await context.db.transaction(async (tx) => {
    mustSucceed(await moveGoal(tx, goal, 'outdated', reason))
    await progressGoal(tx, goal.id, { landing: { outdated: true, onForge: null, tries: tries + 1, refused: null } })
  })
  context.at('goal-outdated')
  context.wake()
}

export const targetTip = async (context: Context, goal: Ready, tipOf: ReadTip): Promise<string | null> =>
  goal.repoMode === 'remote' ? remoteTargetTip(context, goal) : tipOf(goal.targetBranch)

/**
 * Refuses the landing until a person accepts the failures, unless the target has moved: the failures may be fixed
 * there.
 */
const holdBack = async (
  context: Context,
  goal: Ready,
  { held, tip }: { held: string; tip: string | null },
): Promise<void> => {
  if (tip !== null && !(await addsOnlyGoal(context, goal, tip))) return reopen(context, goal)
  await refuseLanding(context, goal, { reason: 'still-failing', detail: held, paths: [] })
}

/** The merge queue signs the commits, or says why it cannot. A rebase would make them anew, so it comes first. */
const waitForSignatures = async (context: Context, goal: Ready, tip: string | null): Promise<void> => {
  if (tip === null) {
    const detail = `there is no branch ${goal.targetBranch}`
    return refuseLanding(context, goal, { reason: 'branch-missing', detail, paths: [] })
  }
  if (!(await addsOnlyGoal(context, goal, tip))) await reopen(context, goal)
}

const landGoal = async (context: Context, goal: Ready, poll: TargetPoll, tipOf: ReadTip): Promise<void> => {
  const landed = async (how: string, tip: string): Promise<void> => {
    const reason = `${how}${await acceptedFailuresText(context, goal)}`
    await context.db.transaction(async (tx) => {
      const moved = await moveGoal(tx, goal, 'landed', reason)
      await closeSigningQuestion(tx, goal.id)
      if (moved.ok) await progressGoal(tx, goal.id, { landing: { target: targetCheckOf(tip, goal.baseCommit ?? tip) } })
    })
    context.wake()
  }
  if (await isLanded(context, goal, poll, tipOf)) {
    await landed(`its work is on ${goal.targetBranch}`, (await targetTip(context, goal, tipOf)) ?? goal.headCommit)
    return
  }
  if (!isToLand(goal)) return
  const inQuestion = await refusalInQuestion(context, goal.targetBranch)
  if (inQuestion !== undefined) return refuseLanding(context, goal, inQuestion)
  if (goal.landing.unverified) return reopen(context, goal)
  const held = goal.landing.asked ? undefined : await autoLandBlocker(context, goal)
  if (held !== undefined) return holdBack(context, goal, { held, tip: await targetTip(context, goal, tipOf) })
  if (!(await isSigned(context, goal))) return waitForSignatures(context, goal, await targetTip(context, goal, tipOf))
  const moved = goal.repoMode === 'remote' ? await fastForwardTarget(context, goal) : await tryForward(context, goal)
  context.at('goal-landed')
  if (moved.ok) await landed(`${goal.targetBranch} was fast-forwarded`, goal.headCommit)
  else if (moved.reason === 'diverged') await reopen(context, goal)
  // The target moved at this moment; the next poll starts from its new tip.
  else if (moved.reason !== 'moved') await refuseLanding(context, goal, moved)
}

/**
 * Skips the goal while its remote is unreachable or denies access. Thrown, the error would end the pass for every
 * other goal.
 */
export const unlessUnreachable = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    if (!isOutage(error) && !isRefusal(error)) throw error
    return undefined
  }
}

/**
 * Lands a goal with a target if that is possible now; any other outcome is stored as a refusal, or tried again at the
 * next poll.
 */
export const tryLand = async (context: Context, goal: Goal, poll: TargetPoll, tipOf: ReadTip): Promise<void> => {
  if (hasTarget(goal)) await unlessUnreachable(() => landGoal(context, goal, poll, tipOf))
}

/** Milliseconds between two polls of a ready goal's target branch, which its user may merge at any time. */
const pollMs = 10_000

/** A remote is polled less often for a change that only a person makes. */
const pollMsOf = (goal: Goal): number => {
  const { asked, signing, refused } = goal.landing
  const isJustSigned = signing?.head === goal.headCommit && goal.autoMerge && refused === null
  if (asked || isJustSigned) return 0
  if (goal.repoMode !== 'remote') return pollMs
  if (!goal.autoMerge) return 6 * pollMs
  return goal.landing.refused === null ? pollMs : 60 * pollMs
}

const isDue = (context: Context, poll: TargetPoll, everyMs: number): boolean => {
  const now = context.clock.now().getTime()
  if (now - poll.polledAt < everyMs) return false
  poll.polledAt = now
  return true
}

/** Whether it is time to poll the target of this goal; if so, starts the next interval. */
export const isPollDue = (context: Context, poll: TargetPoll, goal: Goal): boolean => {
  if (goal.repoMode === 'remote' && (context.remote?.waitMs() ?? 0) > 0) return false
  return isDue(context, poll, pollMsOf(goal))
}

/** No run or merge of the goal is in progress, and a task is about to start. */
const isAboutToStart = (tasks: readonly Task[]): boolean =>
  tasks.some(({ status, ready }) => status === 'queued' && ready) &&
  !tasks.some(({ status }) => status === 'running' || status === 'blocked(awaiting_judge)')

const newerTip = async (
  context: Context,
  goal: Ready,
  poll: TargetPoll,
  tipOf: ReadTip,
): Promise<string | undefined> => {
  const isRemote = goal.repoMode === 'remote'
  if (isRemote && !isPollDue(context, poll, goal)) return undefined
  const tip = goal.landing.onForge ?? (await targetTip(context, goal, tipOf))
  if (tip === null || tip === goal.baseCommit || poll.tipWithinHead === `${tip} ${goal.headCommit}`) return undefined
  if (!(await addsOnlyGoal(context, goal, tip))) return tip
  poll.tipWithinHead = `${tip} ${goal.headCommit}`
  return undefined
}

/**
 * Rebases a goal before it starts new work: fixes on the target count, and there are fewer conflicts at the end. Work
 * in progress is never moved.
 */
export const followTarget = async (
  context: Context,
  goal: Goal,
  tasks: readonly Task[],
  given: { poll: TargetPoll; tipOf: ReadTip },
): Promise<void> => {
  if (!hasTarget(goal) || goal.repoMode === 'direct' || goal.landing.outdated || goal.landing.refused !== null) return
  if (!isAboutToStart(tasks)) return
  const tip = await unlessUnreachable(() => newerTip(context, goal, given.poll, given.tipOf))
  // Work that began on the commit in question would have to be done again without it.
  if (tip === undefined || (await refusalInQuestion(context, goal.targetBranch)) !== undefined) return
  await context.db.transaction(async (tx) => {
    await progressGoal(tx, goal.id, { landing: { outdated: true } })
    const reason = `${goal.targetBranch} has moved: the next task starts from there`
    await appendEvent(tx, { type: 'goal.outdated', goalId: goal.id, payload: { reason, tip, base: goal.baseCommit } })
  })
  context.at('goal-outdated')
}
