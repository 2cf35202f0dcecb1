/** Events: what happened, written in the same transaction as the change they tell of. Append-only. */
import { fromRow, json, one, sql, type Queryable } from './db.ts'

export interface NewEvent {
  type: string
  goalId?: string | null
  taskId?: string | null
  runId?: string | null
  payload?: Record<string, unknown>
}

export interface StoredEvent {
  id: number
  at: Date
  type: string
  goalId: string | null
  taskId: string | null
  runId: string | null
  payload: Record<string, unknown>
}

/**
 * Tells listeners as well: every change has an event, and the notification is sent when its transaction commits. It carries
 * the name of the sender's connection, so that an engine is not woken by itself.
 */
export const appendEvent = async (db: Queryable, event: NewEvent): Promise<void> => {
  await db.query(sql`
    with written as (
      insert into event (type, goal_id, task_id, run_id, payload)
      values (${event.type}, ${event.goalId ?? null}, ${event.taskId ?? null}, ${event.runId ?? null}, ${json(event.payload ?? {})}::jsonb)
      returning id
    )
    select pg_notify(current_schema()::text, current_setting('application_name')) from written`)
}

export interface EventFilter {
  after: number
  limit: number
  goalId?: string | null
  taskId?: string | null
  runId?: string | null
}

/**
 * Up to where nothing can appear any more. Numbers are given when a row is written and seen when its transaction commits:
 * a follower that saw 8 before 7 was committed would never be told of 7. The highest number is read first, then whether
 * anybody else is writing; only then a hole is one that may still be filled, and an old one is what a rollback left.
 */
const settledUpTo = async (db: Queryable): Promise<number> => {
  const given = await one<{ last: number }>(db, sql`select last_value::float8 as last from event_id_seq`)
  const writing = await one(
    db,
    sql`select 1 from pg_locks where relation = 'event'::regclass and mode = 'RowExclusiveLock' and pid <> pg_backend_pid() limit 1`,
  )
  const last = given?.last ?? 0
  if (writing === undefined) return last
  const hole = await one<{ before: number | null }>(
    db,
    sql`select min(before)::float8 as before from (
      select id, at, lag(id) over (order by id) as before from event where id > ${last - 1000}
    ) as newest where id > before + 1 and at > unstuck_now() - interval '5 seconds'`,
  )
  return hole?.before ?? last
}

/** In the order of their numbers, so that the last one is where a follower goes on. */
export const readEvents = async (db: Queryable, filter: EventFilter): Promise<StoredEvent[]> => {
  const settled = await settledUpTo(db)
  const rows = await db.query<object>(sql`
    select * from event
    where id > ${filter.after} and id <= ${settled}
      and (${filter.goalId ?? null}::text is null or goal_id = ${filter.goalId ?? null})
      and (${filter.taskId ?? null}::text is null or task_id = ${filter.taskId ?? null})
      and (${filter.runId ?? null}::text is null or run_id = ${filter.runId ?? null})
    order by id limit ${filter.limit}`)
  return rows.map((row) => fromRow<StoredEvent>(row))
}

/** The number of the newest event; 0 when there is none. */
export const lastEventId = async (db: Queryable): Promise<number> =>
  (await one<{ id: number }>(db, sql`select coalesce(max(id), 0)::float8 as id from event`))?.id ?? 0

export const storeNow = async (db: Queryable): Promise<Date> => {
  const row = await one<{ now: Date }>(db, sql`select unstuck_now() as now`)
  if (row === undefined) throw new Error('the store returned no time')
  return row.now
}
