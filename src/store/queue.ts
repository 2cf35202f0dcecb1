/** What the queued tasks of a store compete for, besides areas, engines and accounts: slots of lanes, the reserve for features, tokens. */
import type { LaneLease } from '../domain/claimability.ts'
import { hourTokensReached, type HourTokens } from '../domain/hour-tokens.ts'
import type { Task } from '../domain/task.ts'
import { firstRow, fromRow, sql, type Queryable } from './db.ts'
import { tokensOfLastHour } from './spent.ts'

/** Every lease with its lane and the name of its task, in the order of the slots. */
export const laneLeases = async (db: Queryable): Promise<LaneLease[]> =>
  (
    await db.query<object>(sql`select task.id, task.goal_id, task.number, task.title, lease.lane, lease.lane_slot as slot
      from lease join task on task.id = lease.task_id order by lease.lane, lease.lane_slot, task.id`)
  ).map((row) => fromRow<LaneLease>(row))

/** Harnesses and models of the feature tasks that are ready and queued, each pair once. */
export const waitingFeatures = async (db: Queryable): Promise<Pick<Task, 'harness' | 'model'>[]> =>
  db.query<Pick<Task, 'harness' | 'model'>>(
    sql`select distinct harness, model from task where state = 'queued' and ready and lane = 'feature' order by harness, model`,
  )

/** How many tasks wait for the end of a limit. */
export const countWaitingForLimit = async (db: Queryable): Promise<number> =>
  (
    await firstRow<{ count: number }>(
      db,
      sql`select count(*)::int as count from task where block_reason = 'quota_wait'`,
    )
  )?.count ?? 0

/** Whether the ceiling of tokens per hour is reached now. Without a limit nothing is read. */
export const hourTokensNow = async (db: Queryable, limit: number | undefined): Promise<HourTokens | undefined> =>
  limit === undefined ? undefined : hourTokensReached(limit, await tokensOfLastHour(db))
