/** The areas that a task keeps other tasks out of, once it may change more than it was claimed with. */
import { areasOf } from '../domain/area.ts'
import type { Run } from '../domain/run.ts'
import { holdsAreas, type Task } from '../domain/task.ts'
import { firstRow, json, sql, type Queryable } from './db.ts'
import { pathsGrantedTo } from './path-grant.ts'
import { areasWithGrants, getTask, readTask } from './task.ts'

/**
 * Adds paths to the areas of a running task. False = another task works there, or this run no longer owns the task. A task without
 * areas excludes no other task, so nothing is added.
 */
export const extendAreas = async (
  tx: Queryable,
  run: Pick<Run, 'epoch'>,
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

/**
 * The areas of a task after a path was granted to it or a grant was revoked. A running task keeps what it holds, and holds more only
 * where no other task works; its next claim takes the rest. Call `lockGoal` first where the task may move at the same time.
 */
export const refreshAreas = async (tx: Queryable, taskId: string): Promise<Task | undefined> => {
  const task = await getTask(tx, taskId)
  if (task === undefined) return undefined
  if (task.status === 'running') return (await extendAreas(tx, task, task, await pathsGrantedTo(tx, task))) ?? task
  if (holdsAreas(task.status)) return task
  const areas = await areasWithGrants(tx, task)
  if (JSON.stringify(areas) === JSON.stringify(task.areas)) return task
  const row = await firstRow<object>(
    tx,
    sql`update task set areas = ${json(areas)}::jsonb, span = area_spans(${json(areas)}::jsonb), version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`,
  )
  return row === undefined ? undefined : readTask(row)
}

/** Gives a task that holds no areas yet another target area; its next claim waits until no other task works there. */
export const setTargetArea = async (tx: Queryable, task: Task, targetArea: string): Promise<void> => {
  const areas = json(await areasWithGrants(tx, { ...task, targetArea }))
  await tx.query(sql`update task set target_area = ${targetArea}, areas = ${areas}::jsonb, span = area_spans(${areas}::jsonb),
    version = version + 1, changed_at = unstuck_now() where id = ${task.id}`)
}

/** Tasks that hold their areas: they are running, or their work waits for its merge. */
export const tasksHoldingAreas = async (db: Queryable): Promise<Task[]> =>
  (
    await db.query<object>(
      sql`select * from task where state = 'running'
        or (block_reason = 'awaiting_judge' and exists (select 1 from area_hold where task_id = task.id)) order by id`,
    )
  ).map(readTask)
