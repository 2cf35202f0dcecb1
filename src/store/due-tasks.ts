/**
 * Tasks that the cycle manager has to look at now. Each query reads one partial index, so its cost follows what is due and not what
 * exists.
 */
import type { Task } from '../domain/task.ts'
import { firstRow, sql, type Queryable } from './db.ts'
import { readTask } from './task.ts'

const waits = `(state = 'failed' or block_reason in ('quota_wait', 'needs_rework', 'issue_linking'))`

/** The condition of `dueTasks`, with the parameter that has its seconds. */
export const dueTask = (watchSeconds: `$${number}`): string =>
  `(retry_at <= unstuck_now() and ${waits}) or watched_at <= unstuck_now() - make_interval(secs => ${watchSeconds}::float8)`

/**
 * Tasks whose wait is over by the store's clock (failed ones, and those that wait for a quota, for rework or for a link), and tasks that
 * wait for the judge and were last found to have a next step `watchSeconds` ago.
 */
export const dueTasks = async (db: Queryable, watchSeconds: number): Promise<Task[]> =>
  (
    await db.query<object>({
      text: `select * from task where ${dueTask('$1')} order by coalesce(retry_at, watched_at)`,
      values: [watchSeconds],
    })
  ).map(readTask)

/** Seconds until the first wait ends that ends after this time, by the store's clock, which decides it; undefined = there is none. */
export const secondsToNextRetry = async (db: Queryable, after: Date): Promise<number | undefined> =>
  (
    await firstRow<{ seconds: number | null }>(db, {
      text: `select extract(epoch from min(retry_at) - unstuck_now())::float8 as seconds from task where retry_at > $1 and ${waits}`,
      values: [after],
    })
  )?.seconds ?? undefined

/** The task has a next step: it is looked at again after the same time. No decision depends on this, so the version stays. */
export const recordWatched = async (tx: Queryable, id: string): Promise<void> => {
  await tx.query(sql`update task set watched_at = unstuck_now() where id = ${id} and watched_at is not null`)
}

/** Tasks that review work which may have changed since: they have not ended, and no run of theirs is in progress. */
export const reviewTasks = async (db: Queryable): Promise<Task[]> =>
  (
    await db.query<object>(
      sql`select * from task where review is not null and state <> 'done' and state <> 'cancelled' and state <> 'running'
        and state <> 'queued' order by id`,
    )
  ).map(readTask)
