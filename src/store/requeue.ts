/** All statements on requeues: one row per requeue or wait, because the limits are counts of these rows per cause. */
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'
import { taskAndParents } from './path-grant.ts'
import { readTask } from './task.ts'
import type { Task } from '../domain/task.ts'

export interface Requeue {
  id: string
  goalId: string
  taskId: string
  /** The run that failed before it. */
  runId: string | null
  /** Epoch of that run. */
  epoch: number
  reason: string
  cause: string
  /** Of the failure. */
  signature: string
  payload: object
  at: Date
}

export const insertRequeue = async (tx: Queryable, entry: Omit<Requeue, 'at'>): Promise<void> => {
  await tx.query(sql`
    insert into requeue (id, goal_id, task_id, run_id, epoch, reason, cause, signature, payload)
    values (${entry.id}, ${entry.goalId}, ${entry.taskId}, ${entry.runId}, ${entry.epoch}, ${entry.reason}, ${entry.cause},
      ${entry.signature}, ${json(entry.payload)}::jsonb)`)
}

/** Requeues of a task since a person last began a new count, oldest first. */
export const requeuesOf = async (db: Queryable, taskId: string): Promise<Requeue[]> =>
  (
    await db.query<object>(sql`select requeue.* from requeue join task on task.id = requeue.task_id
      where requeue.task_id = ${taskId} and requeue.epoch > task.count_from_epoch order by requeue.at, requeue.id`)
  ).map((row) => fromRow<Requeue>(row))

/** The task that continues this one and has not been cancelled. */
export const childOf = async (db: Queryable, taskId: string): Promise<Task | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select * from task where rework ->> 'parent' = ${taskId} and state <> 'cancelled' limit 1`,
  )
  return row === undefined ? undefined : readTask(row)
}

/** The number of a new task of a goal. The caller's transaction holds the lock of the goal. */
export const nextNumber = async (tx: Queryable, goalId: string): Promise<number> =>
  ((await firstRow<{ most: number }>(tx, sql`select max(number) as most from task where goal_id = ${goalId}`))?.most ??
    0) + 1

/** The cause under which it is recorded that a task was given up. */
export const givenUp = 'given_up'

/** The cause of a requeue in which a person left changed paths out of the work. It is no recovery, so no limit counts it. */
export const leftOut = 'left_out'

/** `wasCovered`: the paths of the task covered it, so it was refused for what it is. */
export interface PathLeftOut {
  path: string
  wasCovered: boolean
}

/** Paths that a person left out of the work of a task, or of a task that it continues. */
export const pathsLeftOut = async (db: Queryable, taskId: string): Promise<PathLeftOut[]> =>
  (
    await db.query<{ path: string; was_covered: boolean }>(sql`
      select path, bool_or(coalesce(payload -> 'covered' ? path, false)) as was_covered
      from requeue, jsonb_array_elements_text(payload -> 'paths') as path
      where cause = ${leftOut} and task_id in (select jsonb_array_elements_text(${json(await taskAndParents(db, taskId))}::jsonb))
      group by path order by path`)
  ).map(({ path, was_covered: wasCovered }) => ({ path, wasCovered }))

/** Whether a task ended because no recovery was left, and nothing was decided about it since. */
export const isGivenUp = async (db: Queryable, task: Task): Promise<boolean> =>
  task.status === 'cancelled' && (await givenUpTasks(db, task.goalId)).some(({ id }) => id === task.id)

/** Tasks of a goal that were given up in their present count, and that no other task continues. */
export const givenUpTasks = async (db: Queryable, goalId: string): Promise<Task[]> =>
  (
    await db.query<object>(sql`select * from task where goal_id = ${goalId} and state = 'cancelled' and superseded_by is null
      and exists (select 1 from requeue where requeue.task_id = task.id and requeue.cause = ${givenUp}
        and requeue.epoch > task.count_from_epoch) order by number`)
  ).map(readTask)

/** Tasks of a goal that were last cancelled because a task that they need was cancelled. */
export const cancelledDependents = async (db: Queryable, goalId: string): Promise<Task[]> =>
  (
    await db.query<object>(sql`select * from task where goal_id = ${goalId} and state = 'cancelled' and (
      select payload ->> 'reason' from event where task_id = task.id and type = 'task.cancelled' order by event.id desc limit 1
      ) = 'dependency_cancelled' order by number`)
  ).map(readTask)
