/**
 * An AutoFix task corrects finished work that a reviewer objects to, or that conflicts with work merged before it. Its parent waits as
 * `blocked(needs_rework)`: it ends with the AutoFix task when that lands (src/store/task.ts), and continues by itself when it ends
 * without a result. A parent has one living child, and a line of tasks is never longer than `requeue.reworkDepth`.
 */
import type { Run } from '../../domain/run.ts'
import type { ReworkKind } from '../../domain/rework.ts'
import type { Lane, Task } from '../../domain/task.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { lockGoal } from '../../store/goal.ts'
import { childOf, nextNumber } from '../../store/requeue.ts'
import { getTask, insertTasks, moveTask } from '../../store/task.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import type { Context } from '../core/context.ts'
import { continuingTask } from '../core/continuing-task.ts'

export interface AutoFix {
  kind: Exclude<ReworkKind, 'rework'>
  title: string
  instructions: string
  /** Why the parent's work cannot land as it is. */
  because: string
  priority: number
  lane?: Lane
  /** Absent = that of the parent. */
  targetArea?: string | null
  harness?: string
  /** Of the event on the parent. */
  payload?: Record<string, unknown>
}

/** The task and those that it continues, the newest first. */
export const lineOfTask = async (db: Queryable, task: Task): Promise<Task[]> => {
  const line = [task]
  for (let at: Task | undefined = task; at?.rework != null;) {
    at = await getTask(db, at.rework.parent)
    if (at === undefined || line.some(({ id }) => id === at?.id)) break
    line.push(at)
  }
  return line
}

/** Why no AutoFix task may be made for this task; undefined = one may. */
export const autoFixRefusal = async (
  context: Pick<Context, 'config'>,
  tx: Queryable,
  task: Task,
): Promise<'rework_child_already_exists' | 'rework_chain_max_depth_reached' | undefined> => {
  if ((await childOf(tx, task.id)) !== undefined) return 'rework_child_already_exists'
  const isDeepest = (task.rework?.depth ?? 0) >= context.config().requeue.reworkDepth
  return isDeepest ? 'rework_chain_max_depth_reached' : undefined
}

/** Makes the AutoFix task and parks its parent, in the given transaction. Returns the number of the new task. */
export const startAutoFix = async (
  context: Context,
  tx: Queryable,
  { task, run }: { task: Task; run: Run },
  given: AutoFix,
): Promise<{ id: string; number: number }> => {
  await lockGoal(tx, task.goalId)
  const id = context.newId('t')
  const number = await nextNumber(tx, task.goalId)
  const { kind, priority, lane, harness, targetArea } = given
  // What a reviewer quotes from the work, and a check printed.
  const [title, instructions, because] = [given.title, given.instructions, given.because].map((text) =>
    withoutSecrets(context, text),
  ) as [string, string, string]
  const trigger = kind === 'conflict' ? 'conflict_left_to_agent' : 'objected'
  const payload = { next: 'auto_fix', child: number, childId: id, evidence: because, ...given.payload }
  // The parent first: it gives up its areas, which the new task needs.
  const parked = mustSucceed(await moveTask(tx, task, trigger, { runId: run.id, payload }))
  await insertTasks(tx, [
    continuingTask(parked, { id, number, title, instructions, because, kind, priority, lane, harness, targetArea }),
  ])
  return { id, number }
}
