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
  /** Seconds since a run last succeeded or a commit was merged, since the leader began, and since there is work: the least of them. */
  quietSeconds: number
  /** Tasks of active goals that neither ended nor wait for a person or a limit. */
  work: number
}

export const recentRuns = async (
  db: Queryable,
  { deathSeconds, stormSeconds }: { deathSeconds: number; stormSeconds: number },
): Promise<RecentRuns> => {
  const row = await firstRow<object>(
    db,
    sql`with ended as (
      select state, error_meta ->> 'failureCode' as code, ended_at from run
      where ended_at > unstuck_now() - make_interval(secs => ${Math.max(deathSeconds, stormSeconds)}::float8)
    ), dead as (select * from ended where ended_at > unstuck_now() - make_interval(secs => ${deathSeconds}::float8)),
    storm as (select * from ended where ended_at > unstuck_now() - make_interval(secs => ${stormSeconds}::float8)),
    work as (
      select task.changed_at from task join goal on goal.id = task.goal_id where goal.state = 'active'
        and (task.state = 'running' or task.state = 'failed' or (task.state = 'queued' and task.ready)
          or task.block_reason in ('awaiting_judge', 'needs_rework'))
    )
    select (select count(*)::int from dead where state = 'cancelled' and code = 'interrupted') as lost,
      (select count(*)::int from dead where not (state = 'cancelled' and code = 'interrupted'))
        + (select count(*)::int from run where state = 'running') as others,
      (select count(*)::int from storm where state = 'failed') as failed,
      (select count(*)::int from storm where state = 'success') as succeeded,
      (select count(*)::int from work) as work,
      extract(epoch from unstuck_now() - greatest(
        (select ended_at from run where state = 'success' and ended_at is not null order by ended_at desc limit 1),
        (select since from leader), (select max(changed_at) from goal where state = 'active')))::float8 as quiet_seconds`,
  )
  return fromRow<RecentRuns>(row ?? {})
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
