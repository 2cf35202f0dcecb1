/**
 * Waits are stored as times, so that a restart keeps them. When the clock of the store is set, they move along: after a step back, a
 * wait of a minute would last as long as the step, and after a step ahead it would not be waited at all.
 */
import { firstRow, sql, type Queryable, type Sql } from './db.ts'

interface Wait {
  table: string
  column: string
  /** The rows that still wait. */
  open: string
  /** The rows whose time a provider stated, where that is not all or none. */
  stated?: string
}

const waits: readonly Wait[] = [
  { table: 'task', column: 'retry_at', open: 'retry_at is not null', stated: "block_reason = 'quota_wait'" },
  { table: 'account_limit', column: 'until', open: 'true', stated: 'true' },
  { table: 'judgement', column: 'retry_at', open: "state = 'waiting'" },
  { table: 'judgement', column: 'expires_at', open: "state = 'claimed'" },
  { table: 'lease', column: 'expires_at', open: 'true' },
  { table: 'job', column: 'due_at', open: 'true' },
  { table: 'goal_leftover', column: 'due_at', open: 'true' },
  { table: 'notification', column: 'due_at', open: 'handed_over_at is null and withdrawn_at is null' },
  { table: 'notification_delivery', column: 'next_at', open: 'delivered_at is null and given_up_at is null' },
  // With a trigger it is the end of a wait; without, a time of the wall clock, which stays.
  { table: 'schedule', column: 'next_at', open: 'trigger is not null' },
  { table: 'notification_button', column: 'expires_at', open: 'used_at is null' },
]

/** Each column that holds when something was last seen or done; such a time is never ahead of the clock. */
const seen: readonly { table: string; column: string }[] = [
  { table: 'task', column: 'watched_at' },
  { table: 'engine', column: 'heartbeat_at' },
  { table: 'agent', column: 'heartbeat_at' },
  { table: 'job', column: 'last_at' },
]

const statement = (text: string, ...values: unknown[]): Sql => ({ text, values })

/**
 * Moves the end of each wait that had not ended before the clock was set, by as much as the clock was set (negative = back). Times that a
 * provider stated stay where they are if the clock was set ahead, as after the pause of a virtual machine, during which they passed:
 * trying too early costs one call, waiting too long costs hours. In one transaction: a part that was moved would be moved again.
 */
export const moveWaits = async (tx: Queryable, seconds: number): Promise<void> => {
  for (const { table, column, open, stated = 'false' } of waits) {
    await tx.query(
      statement(
        `update ${table} set ${column} = ${column} + make_interval(secs => $1::float8)
          where ${open} and ($1::float8 < 0 or (${stated}) is not true) and ${column} > unstuck_now() - make_interval(secs => greatest($1::float8, 0))`,
        seconds,
      ),
    )
  }
  if (seconds < 0)
    for (const { table, column } of seen)
      await tx.query(statement(`update ${table} set ${column} = unstuck_now() where ${column} > unstuck_now()`))
}

/** Seconds by which the clock was set back since an engine last recorded a heartbeat or a job; 0 = it was not. */
export const secondsBehind = async (db: Queryable): Promise<number> =>
  Math.max(
    0,
    (
      await firstRow<{ seconds: number | null }>(
        db,
        sql`select extract(epoch from greatest((select max(heartbeat_at) from engine), (select max(last_at) from job)) - unstuck_now())::float8
          as seconds`,
      )
    )?.seconds ?? 0,
  )
