/**
 * All statements of the exports in the owner's checkout: how far each goal is exported, which goals have news, and the facts of its runs.
 */
import type { Run } from '../domain/run.ts'
import { fromRow, firstRow, json, sql, type Queryable } from './db.ts'
import { stableUpTo, type StoredEvent } from './event.ts'

export interface GoalExport {
  goalId: string
  /** The last event that the files contain. */
  eventId: number
  /** Digests of the two files that only grow. Any other content there is not what was written last. */
  eventsDigest: string
  usageDigest: string
}

export const getGoalExport = async (db: Queryable, goalId: string): Promise<GoalExport | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select goal_id, event_id::float8 as event_id, events_digest, usage_digest from goal_export where goal_id = ${goalId}`,
  )
  return row === undefined ? undefined : fromRow<GoalExport>(row)
}

export const saveGoalExport = async (db: Queryable, entry: GoalExport): Promise<void> => {
  const { goalId, eventId, eventsDigest, usageDigest } = entry
  await db.query(sql`
    insert into goal_export (goal_id, event_id, events_digest, usage_digest)
    values (${goalId}, ${eventId}, ${eventsDigest}, ${usageDigest})
    on conflict (goal_id) do update set event_id = excluded.event_id, events_digest = excluded.events_digest, usage_digest = excluded.usage_digest`)
}

export interface GoalNews {
  goals: string[]
  /** All news up to this event are included. */
  upTo: number
  /** A goal changed its state, or a question was asked or answered: other programs wait for these. */
  isUrgent: boolean
}

/** Goals with events after this one. */
export const goalsWithEventsAfter = async (db: Queryable, after: number): Promise<GoalNews> => {
  const upTo = await stableUpTo(db, after)
  if (upTo <= after) return { goals: [], upTo: after, isUrgent: false }
  const rows = await db.query<{ id: string; urgent: boolean }>(
    sql`select goal_id as id, bool_or(starts_with(type, 'goal.') or starts_with(type, 'escalation.')) as urgent from event
      where id > ${after} and id <= ${upTo} and goal_id is not null group by 1 order by 1`,
  )
  return { goals: rows.map(({ id }) => id), upTo, isUrgent: rows.some(({ urgent }) => urgent) }
}

/** Goals whose export lacks events, and all that have not ended, because their files may be missing or damaged. */
export const goalsToExport = async (db: Queryable): Promise<GoalNews> => {
  const upTo = await stableUpTo(db)
  const rows = await db.query<{ id: string }>(sql`
    select goal.id from goal left join goal_export on goal_export.goal_id = goal.id
    where goal.state not in ('done', 'failed', 'cancelled')
      or exists (select 1 from event where event.goal_id = goal.id and event.id > coalesce(goal_export.event_id, 0) and event.id <= ${upTo})
    order by goal.created_at, goal.id`)
  return { goals: rows.map(({ id }) => id), upTo, isUrgent: true }
}

/** Events of these types that a goal had up to this one, oldest first. */
export const eventsUpTo = async (
  db: Queryable,
  { goalId, upTo, types }: { goalId: string; upTo: number; types: readonly string[] },
): Promise<StoredEvent[]> =>
  (
    await db.query<object>(sql`select * from event where goal_id = ${goalId} and id <= ${upTo}
      and type in (select jsonb_array_elements_text(${json(types)}::jsonb)) order by id`)
  ).map((row) => fromRow<StoredEvent>(row))

/** Why the owner's lists did not let a command of this task run, as the newest event before this time says. */
export const escalationReason = async (
  db: Queryable,
  { taskId, before }: { taskId: string; before: Date | null },
): Promise<string | undefined> =>
  (
    await firstRow<{ reason: string | null }>(
      db,
      sql`select payload ->> 'reason' as reason from event where task_id = ${taskId} and type = 'recovery_escalated'
        and at <= coalesce(${before}::timestamptz, unstuck_now()) order by id desc limit 1`,
    )
  )?.reason ?? undefined

/** What is exported about a run and its turns. */
export interface ExportedRun extends Pick<
  Run,
  'id' | 'number' | 'harness' | 'state' | 'spend' | 'sessionId' | 'startedAt' | 'endedAt' | 'launches'
> {
  role: string
  model: string | null
}

export const exportedRuns = async (db: Queryable, ids: readonly string[]): Promise<ExportedRun[]> =>
  ids.length === 0
    ? []
    : (
        await db.query<object>(sql`
          select run.id, run.number, run.harness, run.state, run.spend, run.session_id, run.started_at, run.ended_at, run.launches, task.role, task.model
          from run join task on task.id = run.task_id
          where run.id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`)
      ).map((row) => fromRow<ExportedRun>(row))

export interface GoalProgress {
  /** The number of the goal's newest run within its task; 0 = there is none. */
  iteration: number
  /** Time of the last event. */
  updatedAt: Date
}

/** The number within its task of the given run, or of the newest run of the goal, in a loop its iteration; 0 = there is none. */
export const iterationOf = async (db: Queryable, goalId: string, runId: string | null = null): Promise<number> =>
  (
    await firstRow<{ number: number }>(
      db,
      sql`select coalesce((loop ->> 'iteration')::int, number) as number from run where goal_id = ${goalId} and (${runId}::text is null or id = ${runId}) order by started_at desc, id desc limit 1`,
    )
  )?.number ?? 0

export const goalProgress = async (db: Queryable, goalId: string): Promise<GoalProgress> => {
  const last = await firstRow<{ at: Date }>(
    db,
    sql`select at from event where goal_id = ${goalId} order by id desc limit 1`,
  )
  return { iteration: await iterationOf(db, goalId), updatedAt: last?.at ?? new Date(0) }
}
