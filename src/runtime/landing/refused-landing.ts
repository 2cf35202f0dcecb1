/**
 * Records why a goal did not land. The refusal is stored with the goal, so that it is reported once instead of at
 * every poll.
 */
import { isDeepStrictEqual } from 'node:util'
import { backoff } from '../../domain/backoff.ts'
import { mayStartWork, type Goal, type GoalLanding, type LandingRefusal } from '../../domain/goal.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { cancelChoice, resumeChoice } from '../core/choices.ts'
import { goalBranch, type Context } from '../core/context.ts'
import { questionWithTried } from '../core/tried.ts'
import { landCommand } from './goal-branch.ts'

const namedPaths = 10

const pathText = (paths: readonly string[]): string => {
  if (paths.length === 0) return ''
  const more = paths.length > namedPaths ? ` and ${paths.length - namedPaths} more` : ''
  return `: ${paths.slice(0, namedPaths).join(', ')}${more}`
}

/** What a person has to do, by the reason of the refusal. */
const remedy: Record<string, string> = {
  dirty: 'commit or stash these changes',
  busy: 'finish or abort it (a lock file that no running git holds can be removed)',
  'untracked-in-the-way': 'move or remove these files',
  'branch-missing': 'create the branch again',
  conflict: 'resolve the conflict by hand',
  'in-question': 'answer the question',
  outrun: 'wait for the pushes to it to stop',
  refused: 'allow this push on the remote',
  checks: 'fix that',
  unsigned: 'unlock the key in its agent, or answer the question',
  'still-failing': 'accept this',
  nothing: 'wait until a task is done',
  paused: 'resume the goal',
}

/** The same for a goal whose pull request cannot go on; once that is done, it goes on by itself. */
const pullRequestRemedy: Record<string, string> = {
  'pull-request-closed': 'reopen it',
  'branch-changed': 'remove them there',
  'pull-request-feedback': 'answer there, or mend it and push',
  'pull-request-conflict': 'solve it there',
  'merged-elsewhere': 'merge it there as well',
  forge: 'fix that',
}

/** What happened and what to do, ending with the exact command. */
export const refusalText = (goal: Goal, { reason, detail, paths }: LandingRefusal): string => {
  const onForge = pullRequestRemedy[reason]
  if (onForge !== undefined) return `${detail}; ${onForge}, or land the work here: ${landCommand(goal)}`
  return `${detail}${pathText(paths)}; ${remedy[reason] ?? 'fix that'}, then: ${landCommand(goal)}`
}

/**
 * Refusals that occur only when the goal is based on the current tip of its target: the count of the target's moves
 * starts again.
 */
const onCurrentTip = new Set(['dirty', 'busy', 'untracked-in-the-way', 'still-failing', 'unsigned'])

/** If work that has to be redone is still on the branch after this many tries, a person is asked. */
const triesLimit = 5

/** Reasons that no retry changes, so a person is asked at once. */
const forPerson = new Set(['conflict', 'branch-missing'])

/** Milliseconds before the first retry: a passing problem of git needs some time. */
const rest = { firstMs: 10_000, maxMs: 3_600_000 }

/**
 * Nothing of the goal can start before this is resolved: work to be redone is still on the branch, or git fails while
 * the goal is verified.
 */
const blocksGoal = ({ sentBack, unverified }: GoalLanding, { reason }: LandingRefusal): boolean =>
  sentBack || (unverified && reason === 'git-failed')

/** Whether a refusal that blocks the goal is due for a retry. */
export const isLandingRetryDue = async (context: Context, { landing, changedAt }: Goal): Promise<boolean> => {
  if (landing.refused === null || !blocksGoal(landing, landing.refused)) return true
  const restedMs = (await storeNow(context.db)).getTime() - changedAt.getTime()
  // A negative time means that the clock was set back. Retrying too early is better than waiting for as long as the
  // jump.
  return restedMs < 0 || restedMs >= backoff(landing.tries - 1, rest)
}

/** Pauses the goal with a question: none of its tasks can start before its branch is repaired. */
const askPerson = async (context: Context, tx: Queryable, goal: Goal, refused: LandingRefusal): Promise<void> => {
  const { reason, detail, paths } = refused
  const what = goal.landing.sentBack
    ? `Work of goal "${goal.title}" has to be redone, but could not be removed from ${goalBranch(goal)}`
    : `Goal "${goal.title}" could not be verified on ${goal.targetBranch ?? 'its target'}`
  const happened = `${what}: ${detail}${pathText(paths)}.`
  const { tries } = goal.landing
  const tried = tries === 0 ? [] : [`tried it ${tries + 1} times, with the same result`]
  mustSucceed(await moveGoal(tx, goal, 'blocked', happened))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: goal.id, taskId: null, runId: null },
    ...{ kind: 'blocker', happened, tried, choices: [resumeChoice(goal.id), cancelChoice(goal.id)] },
    question: questionWithTried(happened, tried),
    details: [
      'No task of this goal starts before that is fixed. All work is kept, on the branch and in the snapshots of its runs.',
      `Next step: ${remedy[reason] ?? 'fix that'}, then unstuck resume ${goal.id}.`,
    ].join('\n'),
  })
}

/**
 * Refuses a landing: the request of a person is done, and a goal that lands automatically is tried again at the next
 * poll.
 */
export const refuseLanding = async (context: Context, goal: Goal, refused: LandingRefusal): Promise<void> => {
  const isNew = await context.db.transaction(async (tx) => {
    const now = (await getGoal(tx, goal.id)) ?? goal
    const { sentBack, tries } = now.landing
    // Work that has to be redone is still on the branch and must be removed before anything starts, whatever blocks
    // the landing.
    const isStuck = blocksGoal(now.landing, refused) && mayStartWork(now)
    const counted = isStuck ? { tries: tries + 1 } : onCurrentTip.has(refused.reason) ? { tries: 0 } : {}
    const landing = { ...now.landing, asked: false, outdated: sentBack, refused, ...counted }
    if (isDeepStrictEqual(landing, now.landing)) return false
    await progressGoal(tx, goal.id, { reason: refusalText(goal, refused), landing })
    if (isStuck && (landing.tries >= triesLimit || forPerson.has(refused.reason)))
      await askPerson(context, tx, now, refused)
    if (isDeepStrictEqual(refused, now.landing.refused)) return false
    await appendEvent(tx, { type: 'goal.not_landed', goalId: goal.id, payload: { ...refused } })
    return true
  })
  if (!isNew) return
  context.log.warn({ goal: goal.id, ...refused }, 'the goal could not be landed')
}
