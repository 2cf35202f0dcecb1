/**
 * A merge entry that ends with an error which says nothing about its work: git fails, an object is gone, we have a mistake. It is
 * tried again after a rest, and after the third failure set aside with a question. The count is in the store, so no restart
 * of the engine begins it anew, and the entries behind it go on.
 */
import { backoff } from '../../domain/backoff.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { messageOf } from '../../errors.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { must } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { getMerge, moveMerge } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { BranchLostError, noteBroken } from './broken-branch.ts'
import { fail } from './failed-entry.ts'

const failureLimit = 3

/** Milliseconds. Whatever keeps it from working may be over after some of them. */
const rest = { firstMs: 3_000, maxMs: 60_000, factor: 4 }

/** Whether another try makes sense by now. */
export const isRested = async ({ db }: Pick<Context, 'db'>, entry: MergeEntry): Promise<boolean> => {
  if (entry.failures === 0) return true
  const restedMs = (await storeNow(db)).getTime() - entry.changedAt.getTime()
  // Before it failed = the clock was set back: better a try too early than a rest as long as the jump.
  return restedMs < 0 || restedMs >= backoff(entry.failures - 1, rest)
}

/** A check that could not be followed to its end may still run. */
const endCheck = async ({ ports, log }: Context, { id }: MergeEntry): Promise<void> => {
  try {
    await ports.processes.sweep(`${id}-check`)
  } catch (error) {
    log.warn({ entry: id, error: messageOf(error) }, 'the check of a failed merge could not be ended')
  }
}

/** A task that is no longer on its way to the goal branch has somebody else who takes its next step. */
const setAside = async (context: Context, entry: MergeEntry, detail: string): Promise<void> => {
  const goal = await getGoal(context.db, entry.goalId)
  const run = await getRun(context.db, entry.runId)
  const task = await getTask(context.db, entry.taskId)
  if (goal !== undefined && run !== undefined && task?.place === 'blocked(awaiting_judge)')
    return fail({ context, goal, run, task, entry, tries: failureLimit }, diagnose({ kind: 'workspace', text: detail }))
  must(await context.db.transaction((tx) => moveMerge(tx, entry, 'failed', { detail })))
}

export const noteFailure = async (context: Context, { id, goalId }: MergeEntry, error: unknown): Promise<void> => {
  const entry = await getMerge(context.db, id)
  if (entry === undefined || (entry.state !== 'pending' && entry.state !== 'processing')) return
  const detail = messageOf(error)
  await endCheck(context, entry)
  // Its goal is asked about, and the entry waits with it.
  if (error instanceof BranchLostError) await noteBroken(context, goalId, { reason: 'lost', detail })
  const failures = entry.failures + 1
  context.log.error({ entry: id, failures, error: detail }, 'a merge failed unexpectedly')
  if (failures >= failureLimit) return setAside(context, entry, detail)
  must(await context.db.transaction((tx) => moveMerge(tx, entry, 'threw', { detail })))
}
