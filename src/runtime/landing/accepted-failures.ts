/**
 * Keeps a ready goal from landing automatically while tests that failed before its work still fail: landing it accepts
 * these failures, which is for a person to decide.
 */
import type { Goal } from '../../domain/goal.ts'
import type { PreexistingFailure } from '../../domain/run.ts'
import { preexistingFailuresOfGoal, failuresText, unacceptedFailures } from '../../domain/preexisting-failures.ts'
import type { Queryable } from '../../store/db.ts'
import { listMerges } from '../../store/merge.ts'
import { listRuns } from '../../store/run.ts'
import type { Context } from '../core/context.ts'

const redLeftBy = async (db: Queryable, { id }: Goal): Promise<PreexistingFailure[]> =>
  preexistingFailuresOfGoal(await listRuns(db, { goalId: id, state: 'success' }), await listMerges(db, { goalId: id }))

/**
 * The reason why a goal does not land automatically; undefined = it may. A person who lands it accepts the failures it
 * leaves.
 */
export const autoLandBlocker = async (
  { db, config }: Pick<Context, 'db' | 'config'>,
  goal: Goal,
): Promise<string | undefined> => {
  const red = unacceptedFailures(await redLeftBy(db, goal), config().verify.knownFailures)
  return red.length === 0
    ? undefined
    : `it does not land by itself, because these tests failed before the work and still fail: ${failuresText(red)}; landing it accepts them for this goal, verify.knownFailures for every goal`
}

/** The failures that landing this goal accepts, for the record; empty = none. */
export const acceptedFailuresText = async (
  { db, config }: Pick<Context, 'db' | 'config'>,
  goal: Goal,
): Promise<string> => {
  const red = await redLeftBy(db, goal)
  const unknown = unacceptedFailures(red, config().verify.knownFailures)
  const known = red.length > 0 && unknown.length === 0
  if (known) return `; still failing, as verify.knownFailures accepts: ${failuresText(red)}`
  return unknown.length === 0 ? '' : `; still failing, accepted by landing it: ${failuresText(unknown)}`
}
