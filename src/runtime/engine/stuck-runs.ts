/**
 * A job: ends runs that are out of time and no longer report anything. The limit is that of the run itself with the time of one verification, so
 * work within its limits is never ended. The run loses its lease, so whatever its executor still writes is refused, and the agent is
 * stopped at the next heartbeat; the task waits for longer than that.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import type { Run } from '../../domain/run.ts'
import { mustSucceed } from '../../store/db.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { lockGoal, progressGoal } from '../../store/goal.ts'
import { finishRun, silentRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { failOpenRecoveries } from '../core/store-record.ts'

const lookSeconds = 120
/** One verification and its preparation may take so long without an event. */
export const verificationSeconds = 3600

const endStuck = (context: Context, run: Run): Promise<void> =>
  context.db.transaction(async (tx) => {
    await lockGoal(tx, run.goalId)
    const task = await getTask(tx, run.taskId)
    if (task === undefined || task.status !== 'running' || task.epoch !== run.epoch) return
    const evidence = `the run showed no progress in phase ${run.phase} beyond its time limit`
    const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
    await appendEvent(tx, { type: 'run.timeout', ...about, payload: { phase: run.phase, evidence } })
    await failOpenRecoveries(tx, task.id, evidence)
    const meta = {
      source: 'execution',
      failureCode: 'timeout',
      message: evidence,
      evidence,
      signature: 'timeout/run',
    } as const
    const ended = mustSucceed(await finishRun(tx, run, 'failed', meta))
    await progressGoal(tx, run.goalId, { spend: ended.spend })
    const { requeue, lease } = context.config()
    const wait = Math.max(requeue.failedSeconds * 1000, 2 * renewIntervalMs(lease.ttlSeconds))
    const retry = { reason: 'timeout', at: new Date((await storeNow(tx)).getTime() + wait), count: 1, limit: 1 }
    const payload = { failureCode: 'timeout', evidence, retryAt: retry.at.toISOString(), count: 1, limit: 1 }
    mustSucceed(await moveTask(tx, task, 'run_failed', { runId: run.id, retry, payload }))
  })

export const endStuckRuns = async (context: Context): Promise<number> => {
  for (const run of await silentRuns(context.db, verificationSeconds)) await endStuck(context, run)
  return lookSeconds
}
