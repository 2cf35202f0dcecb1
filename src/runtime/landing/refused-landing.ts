/** Why a goal does not land: kept with the goal, so that the same refusal is told once and not at every look. */
import { isDeepStrictEqual } from 'node:util'
import type { Goal, LandingRefusal } from '../../domain/goal.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, progressGoal } from '../../store/goal.ts'
import type { Context } from '../core/context.ts'
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
  checks: 'mend that',
  'still-failing': 'accept them',
}

/** What happened, and what to do. */
export const refusalText = (goal: Goal, { reason, detail, paths }: LandingRefusal): string =>
  `${detail}${pathText(paths)}; ${cure[reason] ?? 'mend that'}, then: ${landCommand(goal)}`

/** Seen where the goal stood on the target's tip: from here on the target's moves are counted anew. */
const atRest = new Set(['dirty', 'untracked-in-the-way', 'still-failing'])

/** A request to land has had its answer; a goal that lands by itself is looked at again. */
export const refuseLanding = async (context: Context, goal: Goal, refused: LandingRefusal): Promise<void> => {
  const rests = atRest.has(refused.reason) ? { tries: 0 } : {}
  const isNew = await context.db.transaction(async (tx) => {
    const now = (await getGoal(tx, goal.id))?.landing ?? goal.landing
    // Work that was sent back is still on the branch: it has to go before anything starts, whatever stands in the way of landing.
    const landing = { asked: false, outdated: now.sentBack, refused, ...rests }
    if (isDeepStrictEqual({ ...now, ...landing }, now)) return false
    await progressGoal(tx, goal.id, { reason: refusalText(goal, refused), landing })
    await appendEvent(tx, { type: 'goal.not_landed', goalId: goal.id, payload: { ...refused } })
    return true
  })
  if (!isNew) return
  context.log.warn({ goal: goal.id, ...refused }, 'the goal could not be landed')
}
