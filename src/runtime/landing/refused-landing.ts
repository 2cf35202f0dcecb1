/** Why a goal does not land: kept with the goal, so that the same refusal is told once and not at every look. */
import { isDeepStrictEqual } from 'node:util'
import { backoff } from '../../domain/backoff.ts'
import { mayStartWork, type Goal, type GoalLanding, type LandingRefusal } from '../../domain/goal.ts'
import { must, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { cancel, resume } from '../core/choices.ts'
import { goalBranch, type Context } from '../core/context.ts'
import { landCommand } from './goal-branch.ts'

const namedPaths = 10

const pathText = (paths: readonly string[]): string => {
  if (paths.length === 0) return ''
  const more = paths.length > namedPaths ? ` and ${paths.length - namedPaths} more` : ''
  return `: ${paths.slice(0, namedPaths).join(', ')}${more}`
}

/** What a person does about it, by the reason. */
const cure: Record<string, string> = {
  dirty: 'commit or stash that',
  'untracked-in-the-way': 'move or remove them',
  'branch-missing': 'bring the branch back',
  conflict: 'resolve that by hand',
  outrun: 'wait until it rests',
  refused: 'see what the remote wants',
  checks: 'fix that',
  'still-failing': 'accept them',
}

/** What happened, and what to do. */
export const refusalText = (goal: Goal, { reason, detail, paths }: LandingRefusal): string =>
  `${detail}${pathText(paths)}; ${cure[reason] ?? 'fix that'}, then: ${landCommand(goal)}`

/** Seen where the goal stood on the target's tip: from here on the target's moves are counted anew. */
const atRest = new Set(['dirty', 'untracked-in-the-way', 'still-failing'])

/** If what was sent back still is on the branch after this many tries, a person is asked. */
const triesLimit = 5

/** What no further try changes: only a person does. */
const forPerson = new Set(['conflict', 'branch-missing'])

/** Milliseconds. Whatever keeps git from working may be over after some of them. */
const rest = { firstMs: 10_000, maxMs: 3_600_000 }

/** Nothing of the goal goes on before this is over: sent-back work is on its branch, or git keeps it from being verified. */
const isHeldUp = ({ sentBack, unverified }: GoalLanding, { reason }: LandingRefusal): boolean =>
  sentBack || (unverified && reason === 'git-failed')

/** Whether what was refused, and nothing can start without, is to be tried again by now. */
export const isRested = async (context: Context, { landing, changedAt }: Goal): Promise<boolean> => {
  if (landing.refused === null || !isHeldUp(landing, landing.refused)) return true
  const restedMs = (await storeNow(context.db)).getTime() - changedAt.getTime()
  // Before it was refused = the clock was set back: better a try too many than a rest as long as the jump.
  return restedMs < 0 || restedMs >= backoff(landing.tries - 1, rest)
}

/** The goal pauses with a question: nothing of it can start before its branch is as it should be. */
const ask = async (context: Context, tx: Queryable, goal: Goal, refused: LandingRefusal): Promise<void> => {
  const { reason, detail, paths } = refused
  const what = goal.landing.sentBack
    ? `Work of "${goal.title}" is to be done again and could not be taken off ${goalBranch(goal.id)}`
    : `"${goal.title}" could not be verified on ${goal.targetBranch ?? 'its target'}`
  const question = `${what}: ${detail}${pathText(paths)}. Resume the goal after fixing that, or cancel it?`
  must(await moveGoal(tx, goal, 'blocked', question))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: goal.id, taskId: null, runId: null },
    ...{ kind: 'blocker', happened: question, tried: [], question, choices: [resume(goal.id), cancel(goal.id)] },
    details: [
      'Nothing of this goal begins until that is over. All work is kept, on the branch and in the snapshots of its runs.',
      `Next step: ${cure[reason] ?? 'fix that'}, then unstuck resume ${goal.id}.`,
    ].join('\n'),
  })
}

/** A request to land has had its answer; a goal that lands by itself is looked at again. */
export const refuseLanding = async (context: Context, goal: Goal, refused: LandingRefusal): Promise<void> => {
  const isNew = await context.db.transaction(async (tx) => {
    const now = (await getGoal(tx, goal.id)) ?? goal
    const { sentBack, tries } = now.landing
    // Work that was sent back is still on the branch: it has to go before anything starts, whatever stands in the way of landing.
    const isStuck = isHeldUp(now.landing, refused) && mayStartWork(now)
    const counted = isStuck ? { tries: tries + 1 } : atRest.has(refused.reason) ? { tries: 0 } : {}
    const landing = { ...now.landing, asked: false, outdated: sentBack, refused, ...counted }
    if (isDeepStrictEqual(landing, now.landing)) return false
    await progressGoal(tx, goal.id, { reason: refusalText(goal, refused), landing })
    if (isStuck && (landing.tries >= triesLimit || forPerson.has(refused.reason))) await ask(context, tx, now, refused)
    if (isDeepStrictEqual(refused, now.landing.refused)) return false
    await appendEvent(tx, { type: 'goal.not_landed', goalId: goal.id, payload: { ...refused } })
    return true
  })
  if (!isNew) return
  context.log.warn({ goal: goal.id, ...refused }, 'the goal could not be landed')
}
