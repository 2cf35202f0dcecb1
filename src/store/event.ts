/** Events, written in the same transaction as the change they describe. Append-only. */
import { fromRow, json, firstRow, sql, type Queryable, type Sql } from './db.ts'

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
 * Records an event and notifies listeners: the notification is sent when the transaction commits. It carries the name
 * of the sender's connection, so that an engine does not wake itself.
 */
export const appendEvent = async (db: Queryable, event: NewEvent): Promise<void> => {
  await db.query(sql`
    insert into event (type, goal_id, task_id, run_id, payload)
    values (${event.type}, ${event.goalId ?? null}, ${event.taskId ?? null}, ${event.runId ?? null}, ${json(event.payload ?? {})}::jsonb)
    returning pg_notify(current_schema()::text, current_setting('application_name'))`)
}

/** Texts of `recording`, by the texts that they are made of. */
const recordingTexts = new Map<string, string>()

const recordingText = ({ text, values }: Sql, also: string): string => {
  const key = `${also}\n${text}`
  const known = recordingTexts.get(key)
  if (known !== undefined) return known
  const at = (index: number): string => `$${values.length + index}`
  const made = `with changed as (${text}), ${also}
    recorded as (
      insert into event (type, goal_id, task_id, run_id, payload)
      select ${at(1)}::text, ${at(2)}::text, ${at(3)}::text, ${at(4)}::text, ${at(5)}::jsonb from changed
      returning pg_notify(current_schema()::text, current_setting('application_name')))
    select * from changed`
  recordingTexts.set(key, made)
  return made
}

/**
 * One statement that makes a change, which returns its row, and records the event of it. Without a changed row there is no event, so other
 * statements can be sent before it is known whether there is one. `also` are more `with` queries, which follow from the row in `changed`
 * and do not see the change itself in its table.
 */
export const recording = (change: Sql, event: NewEvent, also = ''): Sql => ({
  text: recordingText(change, also),
  values: [
    ...change.values,
    ...[event.type, event.goalId ?? null, event.taskId ?? null, event.runId ?? null, json(event.payload ?? {})],
  ],
})

/** Events of a type in the last day: how many, and the last one. */
export const countOfDay = async (
  db: Queryable,
  type: string,
): Promise<{ count: number; last: Record<string, unknown> | null }> =>
  (await firstRow<{ count: number; last: Record<string, unknown> | null }>(
    db,
    sql`select count(*)::int as count, (array_agg(payload order by id desc))[1] as last
      from event where type = ${type} and at > unstuck_now() - interval '1 day'`,
  )) ?? { count: 0, last: null }

/** Whether what changed in the checkout since then was told already for this run: an engine that was killed after it tells it again. */
export const isCheckoutTold = async (
  db: Queryable,
  { id, taskId }: { id: string; taskId: string },
  since: string,
): Promise<boolean> =>
  (await firstRow(
    db,
    sql`select 1 from event where task_id = ${taskId} and run_id = ${id} and type in ('ref.moved', 'checkout.changed')
      and payload->>'since' = ${since} limit 1`,
  )) !== undefined

/**
 * Of the last day, newest first: what agents did to refs of the owner's checkout, and to what git starts there.
 */
export const checkoutEvents = (db: Queryable, limit: number): Promise<Pick<StoredEvent, 'runId' | 'payload'>[]> =>
  db.query(sql`select run_id as "runId", payload from event
    where at > unstuck_now() - interval '1 day' and (
      type = 'ref.moved' and payload->'refs' @> '[{"by":"agent"}]'
      or type = 'checkout.changed' and (
        payload->'changes' @> '[{"part":"ref","by":"agent"}]' or payload->'changes' @> '[{"dangerous":true,"by":"agent"}]'))
    order by id desc limit ${limit}`)

export interface EventFilter {
  after: number
  /** Up to here no event can appear any more, as `stableUpTo` said; otherwise it is asked. */
  upTo?: number
  limit: number
  goalId?: string | null
  taskId?: string | null
  runId?: string | null
}

/** A reader that is further behind takes the ids before these for final: no transaction lasts that long. */
const mayBeMissing = 5000

/**
 * The highest id up to which no event can appear any more; 0 = there is none. Ids are given when a row is written, but a row is visible
 * when its transaction commits: a reader that saw 8 before 7 was committed would never see 7. So the newest id is read first, then
 * whether another transaction is writing. Only then can a missing id still appear, also the newest ones. What is missing before an event
 * is final when everybody who writes now began after that event (by a second, for clocks): it is from a rollback. A reader that begins
 * at the end begins here, not at the newest event.
 * @param after everything up to this one is known to be final
 */
export const stableUpTo = async (db: Queryable, after = 0): Promise<number> => {
  // A sequence that gave no number yet holds the first one it will give.
  const given = await firstRow<{ last: number }>(
    db,
    sql`select (case when is_called then last_value else 0 end)::float8 as last from event_id_seq`,
  )
  const last = given?.last ?? 0
  if (last <= after) return last
  const writers = await firstRow<{ since: Date | null }>(
    db,
    // Databases that were copied from one have tables of the same number. Of another role's transaction the time is not told.
    sql`select min(coalesce(xact_start, '-infinity')) as since from pg_locks left join pg_stat_activity using (pid)
      where relation = 'event'::regclass and database = (select oid from pg_database where datname = current_database())
      and mode = 'RowExclusiveLock' and pid <> pg_backend_pid() having count(*) > 0`,
  )
  if (writers === undefined) return last
  const from = Math.max(after, last - mayBeMissing)
  const found = await firstRow<{ upTo: number }>(
    db,
    sql`select coalesce(min(before) filter (where id > before + 1 and at > ${writers.since}::timestamptz - interval '1 second'), max(id), ${from})::float8
      as "upTo" from (
        select id, at, lag(id, 1, ${from}::bigint) over (order by id) as before from event where id > ${from} and id <= ${last}
      ) as newest`,
  )
  return found?.upTo ?? from
}

/** Events in the order of their ids; a reader continues after the last one. */
export const readEvents = async (db: Queryable, filter: EventFilter): Promise<StoredEvent[]> => {
  const upTo = filter.upTo ?? (await stableUpTo(db, filter.after))
  if (upTo <= filter.after) return []
  const rows = await db.query<object>(sql`
    select * from event
    where id > ${filter.after} and id <= ${upTo}
      and (${filter.goalId ?? null}::text is null or goal_id = ${filter.goalId ?? null})
      and (${filter.taskId ?? null}::text is null or task_id = ${filter.taskId ?? null})
      and (${filter.runId ?? null}::text is null or run_id = ${filter.runId ?? null})
    order by id limit ${filter.limit}`)
  return rows.map((row) => fromRow<StoredEvent>(row))
}

interface OfRun {
  id: string
  /** Events are indexed by their task. */
  taskId: string
}

/** The newest event of one type of a run. */
export const newestEventOf = async (db: Queryable, run: OfRun, type: string): Promise<StoredEvent | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select * from event where task_id = ${run.taskId} and run_id = ${run.id} and type = ${type}
      order by id desc limit 1`,
  )
  return row === undefined ? undefined : fromRow<StoredEvent>(row)
}

/** Whether a person gave a hint or changed the instructions since the last launch began, which reads the hint at that time. */
export const toldSinceLaunch = async (db: Queryable, taskId: string): Promise<boolean> =>
  (await firstRow(
    db,
    sql`select 1 from event where task_id = ${taskId}
      and ((type = 'task.edited' and (payload->'changes' @> '[{"field":"hint"}]' or payload->'changes' @> '[{"field":"instructions"}]'))
        or (type = 'task.requeued' and coalesce(payload->>'hint', '') <> '') or type = 'run.message_sent')
      and id > coalesce((select max(id) from event where task_id = ${taskId} and type = 'run.phase' and payload->>'to' = 'launch'), 0) limit 1`,
  )) !== undefined

/** How many events of one type a run recorded in the last minute. */
export const eventsOfMinute = async (db: Queryable, run: OfRun, type: string): Promise<number> =>
  (
    await firstRow<{ count: number }>(
      db,
      sql`select count(*)::int as count from event where task_id = ${run.taskId} and run_id = ${run.id}
        and type = ${type} and at > unstuck_now() - interval '1 minute'`,
    )
  )?.count ?? 0

/** The time of the store, which all due times and leases use. */
export const storeNow = async (db: Queryable): Promise<Date> => {
  const row = await firstRow<{ now: Date }>(db, sql`select unstuck_now() as now`)
  if (row === undefined) throw new Error('the store returned no time')
  return row.now
}
