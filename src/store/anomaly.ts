/** All statements on anomalies: what they are found by, and which of them last. */
import { firstRow, fromRow, sql, type Queryable } from './db.ts'

export const anomalyTypes = ['mass_death', 'retry_storm', 'no_progress'] as const
export type AnomalyType = (typeof anomalyTypes)[number]

export interface Anomaly {
  type: AnomalyType
  detail: string
  since: Date
}

/** Counts of the last minutes, by the store's clock. */
export interface RecentRuns {
  /** Runs that lost their agent or engine, in `deathSeconds`. */
  lost: number
  /** Runs that ended otherwise in that time, or are in progress. */
  others: number
  /** Runs that failed, and that succeeded, in `stormSeconds`. */
  failed: number
  succeeded: number
  /** Tasks of active goals that neither ended nor wait for a person or a limit. */
  work: number
}

export interface Quiet {
  /** Seconds since a run last succeeded or a commit was merged, since the leader began, and since there is work: the least of them. */
  quietSeconds: number
  /** The part of that time before the oldest run began that is at work now: until it ends it may make progress. */
  unexplainedSeconds: number
}

/** As `work` of `recentRuns` counts them. With the judge off, what waits for it waits for the person who switched it off. */
const work = `task join goal on goal.id = task.goal_id where goal.state = 'active'
  and (task.state = 'running' or task.state = 'failed' or (task.state = 'queued' and task.ready) or task.block_reason = 'needs_rework'
    or (task.block_reason = 'awaiting_judge' and (select state from hatch) <> 'off'))`

export const recentRuns = async (
  db: Queryable,
  { deathSeconds, stormSeconds }: { deathSeconds: number; stormSeconds: number },
): Promise<RecentRuns> => {
  const row = await firstRow<object>(db, {
    text: `with ended as (
      select state, error_meta ->> 'failureCode' as code, ended_at from run
      where ended_at > unstuck_now() - make_interval(secs => greatest($1::float8, $2::float8))
    ), dead as (select * from ended where ended_at > unstuck_now() - make_interval(secs => $1::float8)),
    storm as (select * from ended where ended_at > unstuck_now() - make_interval(secs => $2::float8))
    select (select count(*)::int from dead where state = 'cancelled' and code = 'interrupted') as lost,
      (select count(*)::int from dead where not (state = 'cancelled' and code = 'interrupted'))
        + (select count(*)::int from run where state = 'running') as others,
      (select count(*)::int from storm where state = 'failed') as failed,
      (select count(*)::int from storm where state = 'success') as succeeded,
      (select count(*)::int from ${work}) as work`,
    values: [deathSeconds, stormSeconds],
  })
  return fromRow<RecentRuns>(row ?? {})
}

/**
 * A run is at work while its executor renews its lease (it stops an agent that is silent) and its own time limit, with the time of one
 * verification, has not passed. A limit that is lifted never does.
 */
const atWork = `run join goal on goal.id = run.goal_id join lease on lease.task_id = run.task_id and lease.run_id = run.id
  where run.state = 'running' and lease.expires_at > unstuck_now()
    and (coalesce((goal.limits ->> 'runSeconds')::float8, 0) <= 0
      or run.started_at > unstuck_now() - make_interval(secs => (goal.limits ->> 'runSeconds')::float8 + $2::float8))`

/**
 * Since when the goal of each such task is active, and since when the task itself waits for no person and no limit: the earliest of all, since which there
 * is work. What else changes a goal or a task, such as a run that failed, begins nothing.
 */
const workBegan = `select min(greatest(work.created_at, opened.at, freed.at)) from (select task.id, task.goal_id, task.created_at from ${work}) as work
  left join lateral (select at from event where event.goal_id = work.goal_id and starts_with(type, 'goal.') and payload ->> 'to' = 'active'
    order by id desc limit 1) as opened on true
  left join lateral (select at from event where event.task_id = work.id and starts_with(type, 'task.')
    and payload ->> 'from' in ('blocked(awaiting_human)', 'blocked(quota_wait)', 'blocked(issue_linking)', 'done', 'cancelled')
    order by id desc limit 1) as freed on true`

/**
 * Mostly a run has succeeded lately or is at work, which indexes show. Merges and events are read only where neither explains so many
 * seconds: a branch of `case` that is not taken is not computed.
 */
const quiet = `with known as materialized (
    select greatest(leader.since, (select ended_at from run where state = 'success' and ended_at > (select since from leader)
      order by ended_at desc limit 1)) as since, least(unstuck_now(), (select min(run.started_at) from ${atWork})) as until from leader
  ), exact as materialized (
    select until, case when until < since + make_interval(secs => $1::float8) then since
      else greatest(since, (select max(changed_at) from merge_entry where state = 'merged'), (${workBegan})) end as since from known
  )
  select extract(epoch from unstuck_now() - since)::float8 as quiet_seconds,
    greatest(0, extract(epoch from until - since))::float8 as unexplained_seconds from exact`

/** Exact where `unexplainedSeconds` may reach `ofInterest`, and otherwise too long: what began the time is not searched for then. */
export const quietTime = async (
  db: Queryable,
  { ofInterest, verificationSeconds }: { ofInterest: number; verificationSeconds: number },
): Promise<Quiet> => {
  const row = await firstRow<object>(db, { text: quiet, values: [ofInterest, verificationSeconds] })
  return fromRow<Quiet>(row ?? {})
}

export const activeAnomalies = async (db: Queryable): Promise<Anomaly[]> =>
  (
    await db.query<object>(sql`select type, detail, since from anomaly where cleared_at is null order by since, type`)
  ).map((row) => fromRow<Anomaly>(row))

/**
 * Records that an anomaly lasts. True = it is new, and the last one of its type was reported so many seconds ago: one that comes and goes
 * is not reported each time.
 */
export const recordAnomaly = async (
  tx: Queryable,
  { type, detail }: Pick<Anomaly, 'type' | 'detail'>,
  coolDownSeconds: number,
): Promise<boolean> => {
  const before = await firstRow<{ active: boolean; recent: boolean }>(
    tx,
    sql`select cleared_at is null as active, reported_at > unstuck_now() - make_interval(secs => ${coolDownSeconds}::float8) as recent
    from anomaly where type = ${type}`,
  )
  const isReported = before === undefined || (!before.active && !before.recent)
  await tx.query(sql`insert into anomaly (type, detail, since, reported_at) values (${type}, ${detail}, unstuck_now(), unstuck_now())
    on conflict (type) do update set detail = excluded.detail,
      since = case when anomaly.cleared_at is null then anomaly.since else excluded.since end, cleared_at = null,
      reported_at = case when ${isReported} then excluded.reported_at else anomaly.reported_at end`)
  return isReported
}

/** True = it lasted until now. */
export const clearAnomaly = async (tx: Queryable, type: AnomalyType): Promise<boolean> =>
  (await firstRow(
    tx,
    sql`update anomaly set cleared_at = unstuck_now() where type = ${type} and cleared_at is null returning type`,
  )) !== undefined
