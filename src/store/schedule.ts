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

type NewSchedule = Omit<Schedule, 'lastAt' | 'goalId' | 'problem' | 'createdAt'>

export const insertSchedule = async (tx: Queryable, schedule: NewSchedule): Promise<Schedule> => {
  const { id, trigger, cron, timeZone, title, file, request, branch, seen, nextAt, addedBy } = schedule
  const row = await firstRow<object>(
    tx,
    sql`insert into schedule (id, trigger, cron, time_zone, title, file, request, branch, seen, next_at, added_by)
      values (${id}, ${trigger}, ${cron}, ${timeZone}, ${title}, ${file}, ${json(request)}::jsonb, ${branch}, ${seen}, ${nextAt}, ${addedBy})
      returning *`,
  )
  if (row === undefined) throw new Error(`schedule ${id} was not stored`)
  await appendEvent(tx, {
    type: 'schedule.added',
    payload: {
      ...{ schedule: id, title, by: addedBy },
      ...(trigger === null ? { cron, timeZone, nextAt: nextAt.toISOString() } : { trigger, branch }),
    },
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
  { goalId, nextAt, seen }: { goalId: string; nextAt: Date; seen: string | null },
): Promise<void> => {
  const { id, title, trigger } = schedule
  const row = await firstRow(
    tx,
    sql`update schedule set goal_id = ${goalId}, last_at = unstuck_now(), next_at = ${nextAt}, seen = ${seen}, problem = ''
      where id = ${id} and next_at = ${schedule.nextAt} returning 1`,
  )
  mustChange(row, schedule)
  await appendEvent(tx, {
    type: 'schedule.started',
    goalId,
    payload: {
      ...{ schedule: id, title },
      ...(trigger === null
        ? { due: schedule.nextAt.toISOString(), nextAt: nextAt.toISOString() }
        : { trigger, commit: seen }),
    },
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

/**
 * A trigger was looked at and begins nothing now. It is no event: that would be one a minute. `problem`: why it could not be looked at, of
 * what ends by itself.
 */
export const recordTriggerPoll = async (
  tx: Queryable,
  schedule: Schedule,
  { seen, problem, nextAt }: { seen: string | null; problem: string; nextAt: Date },
): Promise<void> => {
  const row = await firstRow(
    tx,
    sql`update schedule set seen = ${seen}, problem = ${problem}, next_at = ${nextAt}
      where id = ${schedule.id} and next_at = ${schedule.nextAt} returning 1`,
  )
  mustChange(row, schedule)
}
