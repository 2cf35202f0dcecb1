/** Records the findings about failed checks as events of the run whose work was checked. */
import type { Run } from '../../domain/run.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import type { CheckFinding } from './check-runner.ts'

/** Call in the transaction that stores the verdict: after a crash the verification runs again and must not record findings twice. */
export const recordFindings = async (tx: Queryable, run: Run, findings: readonly CheckFinding[]): Promise<void> => {
  const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  for (const { kind, ...payload } of findings) {
    if (kind === 'probe') await appendEvent(tx, { type: 'verify.probed', ...about, payload })
    else if (kind === 'flaky') await appendEvent(tx, { type: 'verify.flaky', ...about, payload })
    else await appendEvent(tx, { type: 'verify.baseline', ...about, payload })
  }
}
