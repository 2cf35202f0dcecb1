/** Sums over recoveries and questions since a time: what the page about recovery shows. Reads only. */
import { firstRow, sql, type Queryable } from './db.ts'

export interface RecoveryClass {
  /** The cause, as the diagnosis names it. */
  label: string
  rung: number
  attempts: number
  successes: number
  /** Median seconds from the intent to the observed success; null = none succeeded. */
  medianSeconds: number | null
  /** Seconds of the attempts that did not help. */
  lostSeconds: number
}

const seconds = 'extract(epoch from decided_at - started_at)::float8'

/** Those that have been decided, most frequent first. */
export const recoveryClasses = (db: Queryable, since: Date): Promise<RecoveryClass[]> =>
  db.query<RecoveryClass & object>({
    text: `select label, rung, count(*)::int as attempts, count(*) filter (where status = 'success')::int as successes,
        percentile_cont(0.5) within group (order by ${seconds}) filter (where status = 'success') as "medianSeconds",
        coalesce(sum(${seconds}) filter (where status = 'failed'), 0) as "lostSeconds"
      from recovery where started_at >= $1 and status <> 'acting' group by label, rung order by attempts desc, label, rung`,
    values: [since],
  })

export interface RecoveryDay {
  /** Days since `since`, from 0. */
  day: number
  successes: number
  failures: number
}

export const recoveryDays = (db: Queryable, since: Date): Promise<RecoveryDay[]> =>
  db.query<RecoveryDay & object>(
    sql`select floor(extract(epoch from started_at - ${since}::timestamptz) / 86400)::int as day,
      count(*) filter (where status = 'success')::int as successes, count(*) filter (where status = 'failed')::int as failures
    from recovery where started_at >= ${since} and status <> 'acting' group by 1 order by 1`,
  )

export interface RecurringFailure {
  label: string
  /** As it was last seen. */
  text: string
  attempts: number
  successes: number
  tasks: number
  lostSeconds: number
  /** The last one of its tasks. */
  taskId: string
}

/** Equal failures are one. Those that cost most without help come first. */
export const worstFailures = (db: Queryable, since: Date, most: number): Promise<RecurringFailure[]> =>
  db.query<RecurringFailure & object>({
    text: `select (array_agg(label order by started_at desc))[1] as label, (array_agg(issue_detected order by started_at desc))[1] as text,
        (array_agg(task_id order by started_at desc))[1] as "taskId", count(*)::int as attempts,
        count(*) filter (where status = 'success')::int as successes, count(distinct task_id)::int as tasks,
        coalesce(sum(${seconds}) filter (where status = 'failed'), 0) as "lostSeconds"
      from recovery where started_at >= $1 and status <> 'acting' group by signature
      order by count(*) filter (where status = 'failed') desc, "lostSeconds" desc, attempts desc limit $2`,
    values: [since, most],
  })

export interface Autonomy {
  /** Tasks that are done since then. */
  done: number
  /** Of these, those about which no person was asked. */
  withoutPerson: number
  /** Questions about tasks since then. */
  questions: number
}

export const autonomySince = async (db: Queryable, since: Date): Promise<Autonomy> =>
  (await firstRow<Autonomy>(
    db,
    sql`select (select count(*)::int from task where state = 'done' and changed_at >= ${since}) as done,
      (select count(*)::int from task where state = 'done' and changed_at >= ${since}
        and not exists (select 1 from escalation where task_id = task.id)) as "withoutPerson",
      (select count(*)::int from escalation where task_id is not null and created_at >= ${since}) as questions`,
  )) ?? { done: 0, withoutPerson: 0, questions: 0 }
