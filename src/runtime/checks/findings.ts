/** What was found out about failed checks, told in the events of the run whose work they checked. */
import type { Run } from '../../domain/run.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import type { CheckFinding } from './honest-checks.ts'

/** In one transaction with what rests on them, so that a verification which a crash cut short tells nothing twice. */
export const tellFindings = async (tx: Queryable, run: Run, findings: readonly CheckFinding[]): Promise<void> => {
  const place = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  for (const { kind, ...payload } of findings) {
    if (kind === 'probe') await appendEvent(tx, { type: 'verify.probed', ...place, payload })
    else if (kind === 'flaky') await appendEvent(tx, { type: 'verify.flaky', ...place, payload })
    else await appendEvent(tx, { type: 'verify.baseline', ...place, payload })
  }
}
