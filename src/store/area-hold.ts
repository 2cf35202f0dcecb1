/** The areas that a task keeps other tasks out of, once it may change more than it was claimed with. */
import { areasOf } from '../domain/area.ts'
import type { Run } from '../domain/run.ts'
import type { Task } from '../domain/task.ts'
import { firstRow, json, sql, type Queryable } from './db.ts'
import { readTask } from './task.ts'

/**
 * Adds paths to the areas of a running task. False = another task works there, or this run no longer owns the task. A task without
 * areas excludes no other task, so nothing is added.
 */
export const extendAreas = async (
  tx: Queryable,
  run: Run,
  task: Task,
  paths: readonly string[],
): Promise<Task | undefined> => {
  if (task.areas.length === 0) return task
  const areas = [...new Set([...task.areas, ...areasOf({ targetArea: null, allowedPaths: paths })])].sort()
  if (areas.length === task.areas.length) return task
  // Removed and inserted instead of updated: only an insert can leave an overlap to the other task without an error.
  const held = await firstRow<{ span: string }>(
    tx,
    sql`delete from area_hold where task_id = ${task.id} returning span::text as span`,
  )
  const taken = await firstRow(
    tx,
    sql`insert into area_hold (task_id, span) values (${task.id}, area_spans(${json(areas)}::jsonb)) on conflict do nothing returning task_id`,
  )
  if (taken === undefined) {
    if (held !== undefined)
      await tx.query(sql`insert into area_hold (task_id, span) select id, span from task where id = ${task.id}`)
    return undefined
  }
  const row = await firstRow<object>(
    tx,
    sql`update task set areas = ${json(areas)}::jsonb, span = area_spans(${json(areas)}::jsonb), version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and epoch = ${run.epoch} and state = 'running' returning *`,
  )
  return row === undefined ? undefined : readTask(row)
}
