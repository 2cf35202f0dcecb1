/** All statements on tasks that a person works on in a folder of their own. */
import type { TakenOver, Task } from '../domain/task.ts'
import { firstRow, json, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { readTask } from './task.ts'

/** Records that a person works on a task that waits for a person. */
export const recordTakeOver = async (db: Queryable, task: Task, takenOver: TakenOver): Promise<MoveResult<Task>> => {
  const row = await firstRow<object>(
    db,
    sql`update task set taken_over = ${json(takenOver)}::jsonb, version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} and block_reason = 'awaiting_human' returning *`,
  )
  if (row === undefined) return stale(`task ${task.id}`)
  const { folder, by } = takenOver
  await appendEvent(db, {
    type: 'task.taken_over',
    goalId: task.goalId,
    taskId: task.id,
    payload: { from: task.status, to: task.status, folder, by },
  })
  return { ok: true, value: readTask(row) }
}

/** Folders in which persons work at the moment. */
export const takenOverFolders = async (db: Queryable): Promise<string[]> =>
  (
    await db.query<{ folder: string }>(
      sql`select taken_over ->> 'folder' as folder from task where taken_over is not null`,
    )
  ).map(({ folder }) => folder)
