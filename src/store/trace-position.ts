/** How far the spans of finished things were sent. Events are their source, so nothing is kept in memory while a collector is away. */
import { firstRow, sql, type Queryable } from './db.ts'
import { stableUpTo } from './event.ts'

/** What ended longer ago is not sent any more: a collector that was away for days would get days at once, and most refuse old spans. */
const longestHours = 24

const stored = async (db: Queryable): Promise<number | undefined> =>
  (
    await firstRow<{ from: number }>(
      db,
      sql`select greatest(event_id, coalesce((select id from event where at < unstuck_now() - make_interval(hours => ${longestHours}::int)
        order by id desc limit 1), 0))::float8 as from from trace_position`,
    )
  )?.from

/** The event after which there may be something to send. The first call, when tracing was just turned on, begins at the end. */
export const tracePosition = async (db: Queryable): Promise<number> => {
  const from = await stored(db)
  if (from !== undefined) return from
  await db.query(sql`insert into trace_position (event_id) values (${await stableUpTo(db)}) on conflict do nothing`)
  return (await stored(db)) ?? 0
}

/** Never goes back: another engine may have sent more. */
export const saveTracePosition = async (db: Queryable, eventId: number): Promise<void> => {
  await db.query(sql`update trace_position set event_id = greatest(event_id, ${eventId}::bigint)`)
}
