/**
 * Refs that publish a run's commit in the shared repository, so that another engine on it can merge the commit. Each
 * engine drops a ref when it is no longer needed. An engine that was killed or lost its lease cannot, so the leader
 * drops leftovers before a goal becomes ready.
 */
import type { Goal } from '../../domain/goal.ts'
import { waitsForAutoFix } from '../../domain/rework.ts'
import { messageOf } from '../../errors.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { listMerges } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'

const prefix = 'refs/unstuck/runs'

/**
 * Needed only where another engine, with its own shadow repository, may do the merge. With a git remote, commits are
 * pushed instead.
 */
export const publishesRunRefs = (context: Context, goal: Goal): boolean =>
  context.db.isLeader !== undefined && goal.repoMode === 'local'

export const localRunRef = (runId: string): string => `${prefix}/${runId}`

/** Whether a merge may still need the ref. A ref of a run that is unknown to this store belongs to another store. */
const isUsed = async (context: Context, runId: string): Promise<boolean> => {
  const run = await getRun(context.db, runId)
  if (run === undefined || run.state === 'running') return true
  if (run.state !== 'success') return false
  const entry = (await listMerges(context.db, { goalId: run.goalId })).find((merge) => merge.runId === runId)
  const task = await getTask(context.db, run.taskId)
  // The task that corrects it starts from this commit.
  if (task !== undefined && waitsForAutoFix(task)) return true
  if (entry !== undefined && entry.state !== 'failed') return entry.state === 'pending' || entry.state === 'processing'
  // A person may still approve the run's commit, or have it merged again.
  return task?.status === 'blocked(awaiting_judge)' || task?.status === 'blocked(awaiting_human)'
}

/**
 * Drops the ref of a run unless a merge may still need it. Rejects only for store errors: a ref that stays is dropped
 * later.
 */
export const dropUnusedRunRef = async (context: Context, runId: string): Promise<void> => {
  if (await isUsed(context, runId)) return
  try {
    await context.ports.git.dropHandOver(context.repository, runId)
  } catch (error) {
    if (isStoreTrouble(error)) throw error
    context.log.warn({ run: runId, error: messageOf(error) }, 'a published ref of a run could not be dropped')
  }
}

/** Ids of the runs whose ref exists and is no longer needed. */
export const listUnusedRunRefs = async (context: Context): Promise<string[]> => {
  const found: string[] = []
  for (const ref of Object.keys(await context.ports.git.readRefs(context.repository, `${prefix}/`))) {
    const runId = ref.slice(prefix.length + 1)
    if (!(await isUsed(context, runId))) found.push(runId)
  }
  return found
}

/**
 * Drops every ref that is no longer needed. Does nothing where runs publish none (a single engine, or a git remote).
 */
export const dropUnusedRunRefs = async (context: Context): Promise<void> => {
  if (context.db.isLeader === undefined || context.remote !== undefined) return
  try {
    for (const runId of await listUnusedRunRefs(context)) await dropUnusedRunRef(context, runId)
  } catch (error) {
    if (isStoreTrouble(error)) throw error
    context.log.warn({ error: messageOf(error) }, 'the published refs of runs could not be read')
  }
}
