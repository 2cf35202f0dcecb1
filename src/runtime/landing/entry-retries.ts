/**
 * Retries merge entries that fail for a reason unrelated to their work (git fails, an object is missing, a bug of
 * ours). The entry is retried after a pause; after the fifth failure, four minutes later by default, it leaves the queue
 * and a person is asked. The count is stored, so a restart of the engine does not reset it, and entries behind it are
 * processed meanwhile.
 */
import type { Config } from '../../config/config-schema.ts'
import { backoff } from '../../domain/backoff.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { messageOf } from '../../errors.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { mustSucceed } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { getMerge, moveMerge } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { BranchLostError, recordBrokenBranch } from './broken-branch.ts'
import { escalateUnmergeable } from './unmergeable-entry.ts'

const failureLimit = 5

/** A lock is gone in seconds, a full disk in minutes. As for other transient failures the owner may have shorter waits. */
const restMs = ({ retry }: Config, failures: number): number =>
  backoff(failures - 1, {
    firstMs: Math.min(3_000, 1_000 * retry.transientBaseSeconds),
    maxMs: 1_000 * retry.transientMaxSeconds,
    factor: 4,
  })

/** Whether the pause after the last failure is over. */
export const isEntryRetryDue = async (
  { db, config }: Pick<Context, 'db' | 'config'>,
  entry: MergeEntry,
): Promise<boolean> => {
  if (entry.failures === 0) return true
  const restedMs = (await storeNow(db)).getTime() - entry.changedAt.getTime()
  // A negative time means that the clock was set back. Retrying too early is better than waiting for as long as the
  // jump.
  return restedMs < 0 || restedMs >= restMs(config(), entry.failures)
}

/** A check that the failed merge started may still run; end it so that it does not disturb the next try. */
const endCheck = async ({ ports, log }: Context, { id }: MergeEntry): Promise<void> => {
  try {
    await ports.processes.sweep(`${id}-check`)
  } catch (error) {
    log.warn({ entry: id, error: messageOf(error) }, 'a check that a failed merge left running could not be ended')
  }
}

/**
 * Takes the entry out of the queue. A person is asked only if the task still waits for this merge; otherwise the task
 * has another next step.
 */
const giveUp = async (context: Context, entry: MergeEntry, detail: string): Promise<void> => {
  const goal = await getGoal(context.db, entry.goalId)
  const run = await getRun(context.db, entry.runId)
  const task = await getTask(context.db, entry.taskId)
  if (goal !== undefined && run !== undefined && task?.status === 'blocked(awaiting_judge)')
    return escalateUnmergeable(
      { context, goal, run, task, entry, tries: failureLimit },
      diagnose({ kind: 'workspace', text: detail }),
    )
  mustSucceed(await context.db.transaction((tx) => moveMerge(tx, entry, 'failed', { detail })))
}

/** Counts a failure of a merge entry that says nothing about its work; after the last allowed one a person is asked. */
export const recordEntryFailure = async (
  context: Context,
  { id, goalId }: MergeEntry,
  error: unknown,
): Promise<void> => {
  const entry = await getMerge(context.db, id)
  if (entry === undefined || (entry.state !== 'pending' && entry.state !== 'processing')) return
  const detail = messageOf(error)
  await endCheck(context, entry)
  // A person is asked about the goal, and the entry waits for the response.
  if (error instanceof BranchLostError) await recordBrokenBranch(context, goalId, { reason: 'lost', detail })
  const failures = entry.failures + 1
  context.log.error({ entry: id, failures, error: detail }, 'a merge failed unexpectedly')
  if (failures >= failureLimit) return giveUp(context, entry, detail)
  mustSucceed(await context.db.transaction((tx) => moveMerge(tx, entry, 'threw', { detail })))
}
