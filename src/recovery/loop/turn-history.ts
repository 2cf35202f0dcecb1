/** The recoveries of a task as the ladder counts them for a turn of a loop. Pure. */
import type { PastRecovery } from '../playbook.ts'

/**
 * Each turn is a run of its own: what helped an earlier one may be needed again, as in a later run. What failed stays failed.
 * `earlier`: the number of recoveries before the turn.
 */
export const historyOfTurn = <P extends PastRecovery>(history: readonly P[], earlier: number): P[] =>
  history.map((past, index) =>
    index < earlier && past.status === 'success' ? { ...past, runId: `${past.runId}, an earlier turn` } : past,
  )
