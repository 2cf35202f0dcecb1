/** What each call of an agent of a task came to, in the failed runs of the present count and in those of the tasks that it continues. */
import type { ErrorMeta, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { callsBefore, type CallResult } from '../../recovery/fruitless.ts'
import type { Queryable } from '../../store/db.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { RecordedRecovery } from './recovery-record.ts'
import { defined } from '../../domain/defined.ts'

/** Endings that say nothing about the work. */
export const notByWork: ReadonlySet<string> = new Set(['quota_failure', 'account_limited', 'interrupted', 'paused'])

export type FailedRow = Run & { errorMeta: ErrorMeta }

/** Runs of the present count that failed because of the work or its agent, oldest first. */
export const failedRunsOf = async (db: Queryable, { id, countFromEpoch }: Task): Promise<FailedRow[]> =>
  (await listRuns(db, { taskId: id, state: 'failed' })).filter(
    (run): run is FailedRow =>
      run.epoch > countFromEpoch && run.errorMeta !== null && !notByWork.has(run.errorMeta.failureCode),
  )

/** The tasks that this one continues, oldest first. A person's retry begins a new count, which earlier tasks do not belong to. */
export const lineageOf = async (db: Queryable, task: Task): Promise<Task[]> => {
  const lineage: Task[] = []
  for (let at = task; at.rework !== null && at.countFromEpoch === 0;) {
    const parent = await getTask(db, at.rework.parent)
    if (parent === undefined || lineage.some(({ id }) => id === parent.id)) break
    lineage.unshift(parent)
    at = parent
  }
  return lineage
}

/** What each call of an agent in these runs came to: those before a restart, and the last one of each run. */
export const callsOf = (
  failed: readonly Pick<FailedRow, 'id' | 'launches' | 'errorMeta'>[],
  recoveries: readonly RecordedRecovery[],
): CallResult[] =>
  failed.flatMap(({ id, launches, errorMeta }) => {
    const before = callsBefore(recoveries.filter(({ runId }) => runId === id))
    const { signature, failedCommand: command, failing } = errorMeta
    const last: CallResult = {
      signature,
      ...defined({ command }),
      ...(failing === undefined ? {} : { failing: failing.items }),
    }
    return launches.length === 0 ? [] : [...before, last]
  })

/** Of the tasks that this one continues and of its own failed runs, oldest first. */
export const callResultsOf = async (db: Queryable, task: Task): Promise<CallResult[]> => {
  const results: CallResult[] = []
  for (const each of [...(await lineageOf(db, task)), task])
    results.push(
      ...callsOf(await failedRunsOf(db, each), (await recoveriesOf(db, each.id)) as unknown as RecordedRecovery[]),
    )
  return results
}
