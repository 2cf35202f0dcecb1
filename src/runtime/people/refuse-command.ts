/** Commands that are refused because of what happens to the task at this moment, with what to do instead. */
import { taskNameInside } from '../../domain/task-title.ts'
import { waitsForAutoFix } from '../../domain/rework.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { listMerges } from '../../store/merge.ts'
import { listRuns } from '../../store/run.ts'
import { listTasks } from '../../store/task.ts'
import { correctorOf } from './waiting-on.ts'

/** The living task that corrects the work of this one; undefined = it waits for none. */
export const correctorIn = async (db: Queryable, task: Task): Promise<Task | undefined> =>
  waitsForAutoFix(task) ? correctorOf(task, await listTasks(db, task.goalId)) : undefined

/** While another task corrects the work, both would do it twice. */
export const refuseWhileCorrected = async (
  tx: Queryable,
  task: Task,
  verb: 'retry' | 'edit' | 'take-over',
): Promise<void> => {
  const corrector = await correctorIn(tx, task)
  if (corrector === undefined) return
  const { id, number, title, status } = corrector
  throw new AppError(
    'ILLEGAL',
    `task ${task.number} waits for ${taskNameInside({ number, title })}, which corrects its work and is ${status}; use: unstuck ${verb} ${id}. To end both: unstuck cancel ${task.id}`,
  )
}

/** Refuses to cancel a task whose run still lives although it was asked to end: its engine is shutting down. */
const refuseUnderRun = async (tx: Queryable, task: Task): Promise<void> => {
  const [run] = task.status === 'running' ? await listRuns(tx, { taskId: task.id, state: 'running' }) : []
  if (run !== undefined)
    throw new AppError(
      'STALE',
      `run ${run.id} of task ${task.number} has not ended yet; wait until "unstuck status" shows its end, then repeat the cancel`,
    )
}

/** Refuses to cancel a task whose run lives, or whose work may be on the goal branch already. */
export const refuseCancel = async (tx: Queryable, task: Task): Promise<void> => {
  await refuseUnderRun(tx, task)
  if (task.status === 'cancelled') return
  const merging = await listMerges(tx, { goalId: task.goalId, state: 'processing' })
  if (merging.some(({ taskId }) => taskId === task.id))
    throw new AppError(
      'STALE',
      `task ${task.number} is being merged at this moment; check it again with "unstuck status"`,
    )
}
