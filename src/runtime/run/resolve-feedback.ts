/** Resolves recoveries that reported failures to the agent, by the next results of the checks and the changed paths. */
import { isEvidence, isExcluded, type CheckResult } from '../../domain/run.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { isStrictlyLess } from '../../recovery/failing-set.ts'
import type { FeedbackTarget } from '../../recovery/playbook.ts'
import type { Queryable } from '../../store/db.ts'
import type { PostConditionOutcome } from '../core/recovery-record.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import type { RunContext } from '../core/run-context.ts'

interface Observed {
  results: readonly CheckResult[]
  failed?: ObservedCheck
}

/**
 * The reported failures are still there but excused now: the base commit could not be checked when they were reported.
 */
const excusedSince = ({ command, failing }: FeedbackTarget, results: readonly CheckResult[]): boolean => {
  const excused = results.find((check) => check.command === command)?.excused
  return excused !== undefined && excused.because !== 'flaky' && failing.every((item) => excused.failing.includes(item))
}

const effectOf = (reported: FeedbackTarget, { results, failed }: Observed): PostConditionOutcome => {
  const { command, failing } = reported
  if (failed === undefined)
    return excusedSince(reported, results)
      ? { satisfied: false, detail: `${command} fails as it did before the work` }
      : { satisfied: true, detail: `${command} no longer fails` }
  if (failed.command !== command) {
    const passes = results.some((check) => check.command === command && isEvidence(check))
    return { satisfied: passes, detail: `${command} ${passes ? 'passes' : 'was not reached'}; ${failed.command} fails` }
  }
  const now = failed.failing?.items ?? []
  const less = now.length > 0 && isStrictlyLess(now, failing)
  return {
    satisfied: less,
    detail: less
      ? `${failing.length - now.length} of ${failing.length} failure(s) are fixed`
      : `${command} still fails, with no fewer failures`,
  }
}

export const resolveFeedback = (tx: Queryable, { task }: RunContext, seen: Observed): Promise<void> =>
  resolveOpenOf(tx, task.id, (condition) =>
    condition.type === 'fewer_failures' ? effectOf(condition, seen) : undefined,
  )

/**
 * Resolves the recoveries whose post-condition is that the remaining checks pass. `unchecked`: the machine is at fault, which says nothing
 * about the work that an agent left.
 */
export const resolveRemaining = (
  tx: Queryable,
  { task }: RunContext,
  { holds, detail, unchecked = false }: { holds: boolean; detail: string; unchecked?: boolean },
): Promise<void> =>
  resolveOpenOf(tx, task.id, ({ type }, { action }) =>
    type !== 'remaining_checks_pass' || (unchecked && action.type === 'check_work')
      ? undefined
      : { satisfied: holds, detail },
  )

/** `removed`: failing tests that the work removed. */
export const resolveKeptTests = (tx: Queryable, { task }: RunContext, removed: readonly string[]): Promise<void> =>
  resolveOpenOf(tx, task.id, ({ type }) => {
    if (type !== 'tests_kept') return undefined
    return removed.length === 0
      ? { satisfied: true, detail: 'the tests were restored' }
      : { satisfied: false, detail: `still missing: ${removed.join(', ')}` }
  })

/** `left`: checks and tests that the work weakened and its task does not mention. */
export const resolveWeakened = (tx: Queryable, { task }: RunContext, left: readonly string[]): Promise<void> =>
  resolveOpenOf(tx, task.id, ({ type }) => {
    if (type !== 'checks_kept') return undefined
    return left.length === 0
      ? { satisfied: true, detail: 'the checks and tests are as they were' }
      : { satisfied: false, detail: `still weakened: ${left.join('; ').slice(0, 1_000)}` }
  })

/** `left`: files of the work in which conflict markers are left. */
export const resolveMarkers = (tx: Queryable, { task }: RunContext, left: readonly string[]): Promise<void> =>
  resolveOpenOf(tx, task.id, ({ type }) => {
    if (type !== 'markers_gone') return undefined
    return left.length === 0
      ? { satisfied: true, detail: 'the conflict markers are gone' }
      : { satisfied: false, detail: `conflict markers are still in ${left.join(', ').slice(0, 1_000)}` }
  })

const effectOnPaths: Record<string, string> = {
  exclude_paths: 'the work passed its checks without these files',
  allow_paths: 'the task may change these paths',
  ask_paths: 'a model allowed these paths, or left them out',
}

/** `outside`: the changed paths that the task may not change. */
export const resolvePaths = (tx: Queryable, { task, run }: RunContext, outside: readonly string[]): Promise<void> =>
  resolveOpenOf(tx, task.id, (condition, { action }) => {
    if (condition.type !== 'paths_allowed') return undefined
    const entries = condition.paths.map((path) => ({ path, because: '' }))
    // What a model refused is open for the next recovery, and does not make its other decisions useless.
    const refused = action.type === 'ask_paths' ? (run.verdict?.refused ?? []) : []
    const left = outside.filter((path) => isExcluded(path, entries) && !refused.includes(path))
    return left.length === 0
      ? { satisfied: true, detail: effectOnPaths[action.type] ?? 'the changes outside the task were reverted' }
      : { satisfied: false, detail: `still changed: ${left.join(', ').slice(0, 1_000)}` }
  })
