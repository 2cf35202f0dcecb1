/** The event about changed paths that were allowed, or left out of the work. */
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import type { RunContext } from '../core/run-context.ts'

/** Paths that an event lists. */
const mostListed = 20

export interface AppliedPaths {
  attempt: number
  by: 'rule' | 'model' | 'checks'
  allowed: readonly string[]
  discarded: readonly string[]
  reasons: readonly string[]
}

export const actionOf = ({ allowed, discarded }: AppliedPaths): string =>
  [...(allowed.length > 0 ? ['allow'] : []), ...(discarded.length > 0 ? ['discard'] : [])].join('+')

const shortList = (paths: readonly string[]): string =>
  paths.length <= 3 ? paths.join(', ') : `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more`

const appliedText = ({ allowed, discarded, reasons }: AppliedPaths): string =>
  [
    ...(allowed.length > 0 ? [`${shortList(allowed)} may be changed`] : []),
    ...(discarded.length > 0 ? [`${shortList(discarded)} is left out of the work`] : []),
  ].join('; ') + (reasons.length === 0 ? '' : ` (${shortList([...new Set(reasons)])})`)

/** Records what was allowed and left out. */
export const recordApplied = (tx: Queryable, { task, run }: RunContext, applied: AppliedPaths): Promise<void> =>
  appendEvent(tx, {
    type: 'task.policy_recovery_applied',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: {
      ...{ action: actionOf(applied), attempt: applied.attempt, by: applied.by, role: task.role },
      addedAllowedPaths: applied.allowed.slice(0, mostListed),
      allowedCount: applied.allowed.length,
      discardedPaths: applied.discarded.slice(0, mostListed),
      discardedCount: applied.discarded.length,
      text: appliedText(applied),
    },
  })
