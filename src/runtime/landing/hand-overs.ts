/**
 * The refs by which engines on one repository hand each other a run's commit. Whoever has no use for one any more drops it;
 * who was killed or overtaken in between cannot, so the leader drops what is left before a goal is called ready.
 */
import type { Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { listMerges } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'

const prefix = 'refs/unstuck/runs'

/** Whoever merges may be another engine, with a shadow of its own. By a remote, commits go another way. */
export const isHandedOver = (context: Context, goal: Goal): boolean =>
  context.db.leads !== undefined && goal.repoMode === 'local'

export const handOverRef = (runId: string): string => `${prefix}/${runId}`

/** Whether a merge may still read a run's commit there. A ref of a run that this store does not know is another store's. */
const isUsed = async (context: Context, runId: string): Promise<boolean> => {
  const run = await getRun(context.db, runId)
  if (run === undefined || run.state === 'running') return true
  if (run.state !== 'success') return false
  const entry = (await listMerges(context.db, { goalId: run.goalId })).find((merge) => merge.runId === runId)
  if (entry !== undefined) return entry.state === 'pending' || entry.state === 'processing'
  // A person may approve it as it is.
  const place = (await getTask(context.db, run.taskId))?.place
  return place === 'blocked(awaiting_judge)' || place === 'blocked(awaiting_human)'
}

/** Drops the ref of one run if nothing reads it any more. Rejects with trouble of the store alone: a ref that stays is found later. */
export const dropUnused = async (context: Context, runId: string): Promise<void> => {
  if (await isUsed(context, runId)) return
  try {
    await context.ports.git.dropHandOver(context.repository, runId)
  } catch (error) {
    if (isStoreTrouble(error)) throw error
    context.log.warn({ run: runId, error: messageOf(error) }, 'the ref of a handed over commit could not be dropped')
  }
}

/** Runs whose ref is there and of no more use. */
export const listUnused = async (context: Context): Promise<string[]> => {
  const found: string[] = []
  for (const ref of Object.keys(await context.ports.git.readRefs(context.repository, `${prefix}/`))) {
    const runId = ref.slice(prefix.length + 1)
    if (!(await isUsed(context, runId))) found.push(runId)
  }
  return found
}

/** Where commits are handed over at all. */
export const dropAllUnused = async (context: Context): Promise<void> => {
  if (context.db.leads === undefined || context.remote !== undefined) return
  try {
    for (const runId of await listUnused(context)) await dropUnused(context, runId)
  } catch (error) {
    if (isStoreTrouble(error)) throw error
    context.log.warn({ error: messageOf(error) }, 'the refs of handed over commits could not be read')
  }
}
