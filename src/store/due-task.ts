/** Which tasks continue by themselves, and when. */
import type { Task } from '../domain/task.ts'
import { firstRow, sql, type Queryable } from './db.ts'
import { readTask } from './task.ts'

/** Failed tasks, and tasks parked for a quota or for rework, whose persisted retry time has come by the store's clock. */
export const dueTasks = async (db: Queryable): Promise<Task[]> =>
  (
    await db.query<object>(
      sql`select * from task where (state = 'failed' or block_reason in ('quota_wait', 'needs_rework')) and retry_at <= unstuck_now() order by retry_at`,
    )
  ).map(readTask)

/** When the next retry is due; undefined = none is scheduled. */
export const nextRetryAt = async (db: Queryable): Promise<Date | undefined> =>
  (
    await firstRow<{ at: Date | null }>(
      db,
      sql`select min(retry_at) as at from task where state = 'failed' or block_reason in ('quota_wait', 'needs_rework')`,
    )
  )?.at ?? undefined
