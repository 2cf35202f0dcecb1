/** All statements on what ended goals leave in the repository and on the disk of the leader. */
import type { Goal } from '../domain/goal.ts'
import { fromRow, sql, type Queryable } from './db.ts'

export const dueLeftovers = 'due_at <= unstuck_now()'

/** The leftovers of the goal are looked at in so many seconds. */
export const setLeftovers = async (db: Queryable, goalId: string, seconds: number): Promise<void> => {
  await db.query(sql`insert into goal_leftover (goal_id, due_at) values (${goalId}, unstuck_now() + make_interval(secs => ${seconds}::float8))
    on conflict (goal_id) do update set due_at = excluded.due_at`)
}

/** Nothing of the goal is left, or what is left stays. */
export const forgetLeftovers = async (db: Queryable, goalId: string): Promise<void> => {
  await db.query(sql`delete from goal_leftover where goal_id = ${goalId}`)
}

export const goalsWithDueLeftovers = async (db: Queryable): Promise<Goal[]> =>
  (
    await db.query<object>({
      text: `select goal.* from goal join goal_leftover on goal_id = goal.id where ${dueLeftovers} order by due_at, goal.id`,
      values: [],
    })
  ).map((row) => fromRow<Goal>(row))
