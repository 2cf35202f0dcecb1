/** All statements on notifications and their deliveries. */
import type { Escalation } from '../domain/escalation.ts'
import type { Goal } from '../domain/goal.ts'
import {
  endData,
  plannedFor,
  questionData,
  type Delivery,
  type Notification,
  type PlannedNotification,
} from '../domain/notification.ts'
import type { Schedule } from '../domain/schedule.ts'
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

type NewNotification = Omit<PlannedNotification, 'suffix'> &
  Pick<Notification, 'id' | 'goalId' | 'taskId' | 'runId' | 'escalationId' | 'data'>

/** An id that exists already is left as it is: its notification was stored before. */
const store = async (tx: Queryable, entry: NewNotification): Promise<void> => {
  const { id, kind, severity, goalId, taskId, runId, escalationId, data, afterSeconds } = entry
  await tx.query(sql`
    insert into notification (id, kind, severity, goal_id, task_id, run_id, escalation_id, data, due_at)
    values (${id}, ${kind}, ${severity}, ${goalId}, ${taskId}, ${runId}, ${escalationId}, ${json(data)}::jsonb,
      unstuck_now() + make_interval(secs => ${afterSeconds}::float8))
    on conflict (id) do nothing`)
}

type Question = Pick<
  Escalation,
  'id' | 'goalId' | 'taskId' | 'runId' | 'kind' | 'happened' | 'question' | 'details' | 'choices'
>

/** The notification of a new question, and its reminders with their due times. */
export const notifyOfQuestion = async (tx: Queryable, question: Question): Promise<void> => {
  const { id, goalId, taskId, runId } = question
  const data = questionData(question)
  for (const { suffix, ...planned } of plannedFor(question))
    await store(tx, { ...planned, id: `${id}-${suffix}`, goalId, taskId, runId, escalationId: id, data })
}

/** A question is decided: messages that ask for its answer are not sent any more, and its end is reported. */
export const notifyOfAnswer = async (tx: Queryable, question: Question, answer: string): Promise<void> => {
  const { id, goalId, taskId, runId, happened } = question
  // Locked first, in the order of the hand-over: its deliveries would otherwise appear after they were deleted here. A full lock would
  // wait for an attempt that stores its buttons, which would wait for this.
  await tx.query(sql`select 1 from notification where escalation_id = ${id} order by due_at, id for no key update`)
  await tx.query(sql`delete from notification_delivery where delivered_at is null and given_up_at is null
    and notification_id in (select notification.id from notification where escalation_id = ${id})`)
  // What a channel has delivered, or has failed to, stays in the list.
  await tx.query(sql`update notification set withdrawn_at = unstuck_now() where escalation_id = ${id} and withdrawn_at is null
    and not exists (select 1 from notification_delivery d where d.notification_id = notification.id)`)
  const words = answer === 'overtaken' ? 'It needs no answer any more.' : `The answer: ${answer.replaceAll('_', ' ')}.`
  await store(tx, {
    ...{ id: `${id}-resolved`, goalId, taskId, runId, escalationId: id },
    ...{ kind: 'escalation.resolved', severity: 'low', afterSeconds: 0, data: endData(happened, words, answer) },
  })
}

const endings: Partial<Record<Goal['state'], string>> = {
  ready: 'is ready to land',
  done: 'is done',
  failed: 'has failed',
  cancelled: 'was cancelled',
}

/** A goal that ended. One that waits to be landed by a person is reported once, although it may become ready again. */
export const notifyOfGoal = async (tx: Queryable, goal: Goal): Promise<void> => {
  const { id, state, title, reason, autoMerge, repoMode, version } = goal
  const ending = endings[state]
  if (ending === undefined || (state === 'ready' && (autoMerge || repoMode === 'direct'))) return
  await store(tx, {
    ...{ id: state === 'ready' ? `${id}-ready` : `${id}-ended-${version}`, goalId: id },
    ...{ taskId: null, runId: null, escalationId: null, afterSeconds: 0 },
    kind: state === 'ready' ? 'goal.ready' : 'goal.ended',
    severity: state === 'failed' ? 'normal' : 'low',
    data: endData(`Goal "${title}" ${ending}`, reason, state),
  })
}

/** A schedule that began no goal at its time, and needs a person. */
export const notifyOfSchedule = async (
  tx: Queryable,
  { schedule: { id, title, nextAt }, problem }: { schedule: Schedule; problem: string },
): Promise<void> =>
  store(tx, {
    ...{ id: `${id}-${nextAt.getTime()}`, goalId: null, taskId: null, runId: null, escalationId: null },
    ...{ kind: 'schedule.failed', severity: 'normal', afterSeconds: 0 },
    data: endData(`The schedule "${title}" began no goal`, `${problem}. See: unstuck schedule list`, 'failed'),
  })

export interface DueNotification extends Notification {
  /** It still helps to send it: it is new, or its question is still open. */
  isCurrent: boolean
}

/** Those whose time has come and whose channels were not chosen yet, the oldest first. */
export const dueNotifications = async (db: Queryable, limit: number): Promise<DueNotification[]> =>
  (
    await db.query<object>(sql`select notification.*, due_at > unstuck_now() - interval '1 day' or coalesce(asked.state = 'pending', false) as is_current
      from notification left join escalation asked on asked.id = notification.escalation_id
      where handed_over_at is null and withdrawn_at is null and due_at <= unstuck_now() order by due_at, notification.id limit ${limit}`)
  ).map((row) => fromRow<DueNotification>(row))

/** Stores over which channels a notification goes; none = it is not sent. One whose question was answered meanwhile stays withdrawn. */
export const handOverNotification = async (tx: Queryable, id: string, channels: readonly string[]): Promise<void> => {
  const waiting = await firstRow(
    tx,
    sql`update notification set handed_over_at = unstuck_now()
      where id = ${id} and handed_over_at is null and withdrawn_at is null returning 1`,
  )
  for (const channel of waiting === undefined ? [] : channels)
    await tx.query(sql`insert into notification_delivery (notification_id, channel) values (${id}, ${channel})
      on conflict do nothing`)
}

export const withdrawNotification = async (tx: Queryable, id: string): Promise<void> => {
  await tx.query(sql`update notification set withdrawn_at = unstuck_now() where id = ${id}`)
}

export interface DueDelivery {
  delivery: Delivery
  notification: Notification
}

const byIds = async (db: Queryable, ids: readonly string[]): Promise<Map<string, Notification>> => {
  const rows = await db.query<object>(
    sql`select * from notification where id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`,
  )
  return new Map(rows.map((row) => fromRow<Notification>(row)).map((entry) => [entry.id, entry]))
}

/** The deliveries of a channel whose time has come, the oldest first. */
export const dueDeliveries = async (db: Queryable, channel: string, limit: number): Promise<DueDelivery[]> => {
  const rows =
    await db.query<object>(sql`select d.* from notification_delivery d join notification n on n.id = d.notification_id
    where d.channel = ${channel} and d.delivered_at is null and d.given_up_at is null and d.next_at <= unstuck_now()
    order by d.next_at, n.due_at, n.id limit ${limit}`)
  const due = rows.map((row) => fromRow<Delivery>(row))
  if (due.length === 0) return []
  const notifications = await byIds(
    db,
    due.map(({ notificationId }) => notificationId),
  )
  return due.flatMap((delivery) => {
    const notification = notifications.get(delivery.notificationId)
    return notification === undefined ? [] : [{ delivery, notification }]
  })
}

/**
 * Counts an attempt before it is made, so that an engine that is killed during it repeats it later and not more often than
 * the limit. False = another engine made this attempt.
 */
export const beginDelivery = async (tx: Queryable, delivery: Delivery, waitSeconds: number): Promise<boolean> =>
  (await firstRow(
    tx,
    sql`update notification_delivery set attempts = attempts + 1,
      next_at = unstuck_now() + make_interval(secs => ${waitSeconds}::float8)
    where notification_id = ${delivery.notificationId} and channel = ${delivery.channel} and attempts = ${delivery.attempts}
      and delivered_at is null and given_up_at is null returning attempts`,
  )) !== undefined

export const deliverySucceeded = async (tx: Queryable, { notificationId, channel }: Delivery): Promise<void> => {
  await tx.query(sql`update notification_delivery set delivered_at = unstuck_now(), problem = ''
    where notification_id = ${notificationId} and channel = ${channel}`)
}

export const deliveryFailed = async (
  tx: Queryable,
  { notificationId, channel }: Delivery,
  { problem, waitSeconds }: { problem: string; waitSeconds: number },
): Promise<void> => {
  await tx.query(sql`update notification_delivery set problem = ${problem},
      next_at = unstuck_now() + make_interval(secs => ${waitSeconds}::float8)
    where notification_id = ${notificationId} and channel = ${channel}`)
}

export const giveUpDelivery = async (
  tx: Queryable,
  { notification, delivery }: DueDelivery,
  problem: string,
): Promise<void> => {
  const { id, goalId, taskId, runId, kind } = notification
  await tx.query(sql`update notification_delivery set given_up_at = unstuck_now(), problem = ${problem}
    where notification_id = ${id} and channel = ${delivery.channel}`)
  await appendEvent(tx, {
    type: 'notification.given_up',
    ...{ goalId, taskId, runId },
    payload: { notification: id, kind, channel: delivery.channel, problem },
  })
}

/** Ends the deliveries over all other channels than these. No event: the owner removed the channel. */
export const giveUpOtherChannels = async (tx: Queryable, channels: readonly string[]): Promise<void> => {
  await tx.query(sql`update notification_delivery
    set given_up_at = unstuck_now(), problem = 'the channel was removed from the configuration'
    where delivered_at is null and given_up_at is null
      and channel not in (select jsonb_array_elements_text(${json(channels)}::jsonb))`)
}

export interface RetriedDelivery {
  notificationId: string
  channel: string
}

/**
 * Makes what was given up due again, with a new count of attempts: of one notification, or (`id` null) everything of the last day and
 * of the questions that wait. What asks for an answer that was given meanwhile stays as it is.
 */
export const retryDeliveries = async (
  tx: Queryable,
  { id, channels }: { id: string | null; channels: readonly string[] },
): Promise<RetriedDelivery[]> => {
  const rows = await tx.query<object>(sql`
    update notification_delivery d set attempts = 0, given_up_at = null, next_at = unstuck_now()
    from notification n left join escalation asked on asked.id = n.escalation_id
    where n.id = d.notification_id and d.given_up_at is not null and n.withdrawn_at is null
      and d.channel in (select jsonb_array_elements_text(${json(channels)}::jsonb))
      and (n.id = ${id} or (${id}::text is null and (n.due_at > unstuck_now() - interval '1 day' or asked.state = 'pending')))
      and (asked.id is null or asked.state = 'pending' or n.kind = 'escalation.resolved')
    returning d.notification_id, d.channel, n.goal_id, n.task_id, n.run_id`)
  const retried = rows.map((row) => fromRow<RetriedDelivery & Pick<Notification, 'goalId' | 'taskId' | 'runId'>>(row))
  for (const { notificationId, channel, ...about } of retried)
    await appendEvent(tx, {
      type: 'notification.retried',
      ...about,
      payload: { notification: notificationId, channel },
    })
  return retried.map(({ notificationId, channel }) => ({ notificationId, channel }))
}

export const notificationExists = async (db: Queryable, id: string): Promise<boolean> =>
  (await firstRow(db, sql`select 1 from notification where id = ${id}`)) !== undefined

export interface SentNotification extends Notification {
  deliveries: Delivery[]
}

/** The newest notifications whose time has come, with the state of their deliveries. */
export const listNotifications = async (db: Queryable, limit: number): Promise<SentNotification[]> => {
  const rows = await db.query<object>(sql`select * from notification
    where due_at <= unstuck_now() and withdrawn_at is null order by due_at desc, id limit ${limit}`)
  const found = rows.map((row) => fromRow<Notification>(row))
  const deliveries = (
    await db.query<object>(sql`select * from notification_delivery
      where notification_id in (select jsonb_array_elements_text(${json(found.map(({ id }) => id))}::jsonb)) order by channel`)
  ).map((row) => fromRow<Delivery>(row))
  const of = Map.groupBy(deliveries, ({ notificationId }) => notificationId)
  return found.map((entry) => ({ ...entry, deliveries: of.get(entry.id) ?? [] }))
}

export interface UndeliveredChannel {
  channel: string
  /** Still tried. */
  waiting: number
  /** Given up within the last day. */
  givenUp: number
  problem: string
}

/** Those of these channels whose last attempt failed, for the views of people. */
export const undeliveredChannels = async (
  db: Queryable,
  channels: readonly string[],
): Promise<UndeliveredChannel[]> => {
  if (channels.length === 0) return []
  const rows = await db.query<object>(sql`
      select channel, count(*) filter (where given_up_at is null)::int as waiting,
        count(*) filter (where given_up_at is not null)::int as given_up,
        (array_agg(problem order by coalesce(given_up_at, next_at) desc))[1] as problem
      from notification_delivery
      where delivered_at is null and problem <> '' and channel in (select jsonb_array_elements_text(${json(channels)}::jsonb)) and (given_up_at is null or given_up_at > unstuck_now() - interval '1 day')
      group by channel order by channel`)
  return rows.map((row) => fromRow<UndeliveredChannel>(row))
}

/** Deletes what is long over: sent, given up, withdrawn, or never sent for lack of a channel. A question that waits keeps its notifications. */
export const dropOldNotifications = async (tx: Queryable, days: number): Promise<void> => {
  await tx.query(sql`delete from notification
    where greatest(due_at, handed_over_at, withdrawn_at) < unstuck_now() - make_interval(days => ${days}::int)
      and not exists (select 1 from escalation e where e.id = escalation_id and e.state = 'pending')
      and not exists (select 1 from notification_delivery d
        where d.notification_id = notification.id and d.delivered_at is null and d.given_up_at is null)`)
}
