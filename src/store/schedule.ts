/** All statements on schedules. Every change of a due time is fenced by that time, so that of two engines one begins the goal. */
import type { Schedule } from '../domain/schedule.ts'
import { firstRow, fromRow, json, sql, StaleError, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { notifyOfSchedule } from './notification.ts'

const read = (row: object): Schedule => fromRow<Schedule>(row)

/** Those that come next first. */
export const listSchedules = async (db: Queryable): Promise<Schedule[]> =>
  (await db.query<object>(sql`select * from schedule order by next_at, id`)).map(read)

export const isScheduleDue = 'next_at <= unstuck_now()'

export const dueSchedules = async (db: Queryable): Promise<Schedule[]> =>
  (
    await db.query<object>({ text: `select * from schedule where ${isScheduleDue} order by next_at, id`, values: [] })
  ).map(read)

export const hasSchedules = async (db: Queryable): Promise<boolean> =>
  (await firstRow(db, sql`select 1 from schedule limit 1`)) !== undefined

type NewSchedule = Pick<Schedule, 'id' | 'cron' | 'timeZone' | 'title' | 'file' | 'request' | 'nextAt' | 'addedBy'>

export const insertSchedule = async (tx: Queryable, schedule: NewSchedule): Promise<Schedule> => {
  const { id, cron, timeZone, title, file, request, nextAt, addedBy } = schedule
  const row = await firstRow<object>(
    tx,
    sql`insert into schedule (id, cron, time_zone, title, file, request, next_at, added_by)
      values (${id}, ${cron}, ${timeZone}, ${title}, ${file}, ${json(request)}::jsonb, ${nextAt}, ${addedBy}) returning *`,
  )
  if (row === undefined) throw new Error(`schedule ${id} was not stored`)
  await appendEvent(tx, {
    type: 'schedule.added',
    payload: { schedule: id, title, cron, timeZone, nextAt: nextAt.toISOString(), by: addedBy },
  })
  return read(row)
}

/** Undefined = there is none. */
export const deleteSchedule = async (tx: Queryable, id: string, by: string): Promise<Schedule | undefined> => {
  const row = await firstRow<object>(tx, sql`delete from schedule where id = ${id} returning *`)
  if (row === undefined) return undefined
  const removed = read(row)
  await appendEvent(tx, { type: 'schedule.removed', payload: { schedule: id, title: removed.title, by } })
  return removed
}

const mustChange = (row: unknown, { id }: Schedule): void => {
  if (row === undefined) throw new StaleError(`schedule ${id} was changed or removed in the meantime`)
}

/** In the transaction that creates the goal: a kill neither loses the goal nor begins it twice. */
export const recordScheduledGoal = async (
  tx: Queryable,
  schedule: Schedule,
  { goalId, nextAt }: { goalId: string; nextAt: Date },
): Promise<void> => {
  const { id, title } = schedule
  const row = await firstRow(
    tx,
    sql`update schedule set goal_id = ${goalId}, last_at = unstuck_now(), next_at = ${nextAt}, problem = ''
      where id = ${id} and next_at = ${schedule.nextAt} returning 1`,
  )
  mustChange(row, schedule)
  await appendEvent(tx, {
    type: 'schedule.started',
    goalId,
    payload: { schedule: id, title, due: schedule.nextAt.toISOString(), nextAt: nextAt.toISOString() },
  })
}

/**
 * No goal began. `isSkip`: the goal before is not over, which needs no one. The same problem again is neither an event nor a notification:
 * a schedule of each minute would fill the store with them.
 */
export const recordScheduleProblem = async (
  tx: Queryable,
  schedule: Schedule,
  { problem, nextAt, isSkip }: { problem: string; nextAt: Date; isSkip: boolean },
): Promise<void> => {
  const { id, title, goalId } = schedule
  const row = await firstRow(
    tx,
    sql`update schedule set problem = ${problem}, next_at = ${nextAt} where id = ${id} and next_at = ${schedule.nextAt} returning 1`,
  )
  mustChange(row, schedule)
  if (problem === schedule.problem) return
  const payload = { schedule: id, title, reason: problem, nextAt: nextAt.toISOString() }
  if (isSkip) return appendEvent(tx, { type: 'schedule.skipped', goalId, payload })
  await appendEvent(tx, { type: 'schedule.failed', payload })
  await notifyOfSchedule(tx, { schedule, problem })
}
