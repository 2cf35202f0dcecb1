/**
 * Keeps a ready goal from landing automatically while tests that failed before its work still fail, or after its work changed what tests
 * expect: landing it accepts that, which is for a person to decide.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Proof } from '../../domain/proof.ts'
import type { PreexistingFailure, Run } from '../../domain/run.ts'
import { preexistingFailuresOfGoal, failuresText, unacceptedFailures } from '../../domain/preexisting-failures.ts'
import type { Queryable } from '../../store/db.ts'
import { judgementsOf } from '../../store/judgement.ts'
import { listMerges } from '../../store/merge.ts'
import { listRuns } from '../../store/run.ts'
import type { Context } from '../core/context.ts'

const redLeftBy = async (db: Queryable, { id }: Goal): Promise<PreexistingFailure[]> =>
  preexistingFailuresOfGoal(await listRuns(db, { goalId: id, state: 'success' }), await listMerges(db, { goalId: id }))

/** Work that changed what tests of the base commit expect, and that no reviewer or person approved. */
const expectationsChangedBy = async (db: Queryable, { id }: Goal): Promise<{ run: Run; proof: Proof }[]> => {
  const runs = await listRuns(db, { goalId: id, state: 'success' })
  const judgements = await judgementsOf(db, [...new Set(runs.map(({ taskId }) => taskId))])
  const looked = new Set(judgements.filter(({ mode }) => mode !== 'auto').map(({ runId }) => runId))
  // A later run of a task replaces what an earlier one did.
  const newest = new Map(runs.map((run) => [run.taskId, run]))
  return [...newest.values()].flatMap((run) => {
    const proof = run.verdict?.proof
    return proof?.kind === 'expectations changed' && !looked.has(run.id) ? [{ run, proof }] : []
  })
}

/**
 * The reason why a goal does not land automatically; undefined = it may. A person who lands it accepts the failures it
 * leaves, and what its work changed about the expectations of tests.
 */
export const autoLandBlocker = async (
  { db, config }: Pick<Context, 'db' | 'config'>,
  goal: Goal,
): Promise<string | undefined> => {
  const red = unacceptedFailures(await redLeftBy(db, goal), config().verify.knownFailures)
  const changed = config().verify.expectations === 'hold' ? await expectationsChangedBy(db, goal) : []
  const reasons = [
    ...(red.length === 0
      ? []
      : [
          `these tests failed before the work and still fail: ${failuresText(red)}; landing it accepts them for this goal, verify.knownFailures for every goal`,
        ]),
    ...changed.map(
      ({ run, proof }) =>
        `it changed what tests expect: ${proof.tests.join(', ').slice(0, 500)} (to look: unstuck diff ${run.id})`,
    ),
  ]
  return reasons.length === 0 ? undefined : `it does not land by itself, because ${reasons.join('; ')}`
}

/** What landing this goal accepts, for the record: failures, and changed expectations; empty = nothing. */
export const acceptedFailuresText = async (
  { db, config }: Pick<Context, 'db' | 'config'>,
  goal: Goal,
): Promise<string> => {
  const red = await redLeftBy(db, goal)
  const unknown = unacceptedFailures(red, config().verify.knownFailures)
  const known = red.length > 0 && unknown.length === 0
  const tests = (await expectationsChangedBy(db, goal)).flatMap(({ proof }) => proof.tests)
  return [
    ...(known ? [`; still failing, as verify.knownFailures accepts: ${failuresText(red)}`] : []),
    ...(unknown.length === 0 ? [] : [`; still failing, accepted by landing it: ${failuresText(unknown)}`]),
    ...(tests.length === 0 ? [] : [`; it changed what tests expect: ${tests.join(', ').slice(0, 500)}`]),
  ].join('')
}
