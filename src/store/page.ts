/**
 * Lists in pages, oldest first. The cursor is the id of the last row that the reader has. Rows are compared by their
 * sort keys, so a page neither repeats nor skips a row, whatever is added meanwhile. Reads only.
 */
import type { Escalation } from '../domain/escalation.ts'
import type { Goal } from '../domain/goal.ts'
import type { Judgement } from '../domain/judgement.ts'
import type { Run } from '../domain/run.ts'
import type { Task } from '../domain/task.ts'
import { fromRow, firstRow, json, sql, type Queryable } from './db.ts'
import { stableUpTo } from './event.ts'
import type { Recovery } from './recovery.ts'
import type { Requeue } from './requeue.ts'
import { readRun } from './run.ts'
import { readTask } from './task.ts'

export interface Page {
  /** Null = from the start. An unknown id gives an empty page. */
  after: string | null
  limit: number
}

export const pageOfGoals = async (db: Queryable, { after, limit }: Page): Promise<Goal[]> =>
  (
    await db.query<object>(sql`select * from goal
      where ${after}::text is null or (created_at, id) > (select created_at, id from goal where id = ${after})
      order by created_at, id limit ${limit}`)
  ).map((row) => fromRow<Goal>(row))

export const pageOfTasks = async (
  db: Queryable,
  { after, limit, goalId }: Page & { goalId: string | null },
): Promise<Task[]> =>
  (
    await db.query<object>(sql`select * from task
      where (${goalId}::text is null or goal_id = ${goalId})
        and (${after}::text is null or (created_at, goal_id, number) > (select created_at, goal_id, number from task where id = ${after}))
      order by created_at, goal_id, number limit ${limit}`)
  ).map(readTask)

/** `states`: only runs in one of them. */
export const pageOfRuns = async (
  db: Queryable,
  {
    after,
    limit,
    goalId,
    taskId,
    states,
  }: Page & { goalId: string | null; taskId: string | null; states: readonly string[] | null },
): Promise<Run[]> =>
  (
    await db.query<object>(sql`select * from run
      where (${goalId}::text is null or goal_id = ${goalId}) and (${taskId}::text is null or task_id = ${taskId})
        and (${states === null}::boolean or state in (select jsonb_array_elements_text(${json(states ?? [])}::jsonb)))
        and (${after}::text is null or (started_at, id) > (select started_at, id from run where id = ${after}))
      order by started_at, id limit ${limit}`)
  ).map(readRun)

export const pageOfJudgements = async (
  db: Queryable,
  { after, limit, goalId, taskId }: Page & { goalId: string | null; taskId: string | null },
): Promise<Judgement[]> =>
  (
    await db.query<object>(sql`select * from judgement
      where (${goalId}::text is null or goal_id = ${goalId}) and (${taskId}::text is null or task_id = ${taskId})
        and (${after}::text is null or number > (select number from judgement where id = ${after}))
      order by number limit ${limit}`)
  ).map((row) => fromRow<Judgement>(row))

export const pageOfRecoveries = async (
  db: Queryable,
  { after, limit, goalId, taskId }: Page & { goalId: string | null; taskId: string | null },
): Promise<Recovery[]> =>
  (
    await db.query<object>(sql`select * from recovery
      where (${goalId}::text is null or goal_id = ${goalId}) and (${taskId}::text is null or task_id = ${taskId})
        and (${after}::text is null or (started_at, id) > (select started_at, id from recovery where id = ${after}))
      order by started_at, id limit ${limit}`)
  ).map((row) => fromRow<Recovery>(row))

export const pageOfRequeues = async (
  db: Queryable,
  { after, limit, goalId, taskId }: Page & { goalId: string | null; taskId: string | null },
): Promise<Requeue[]> =>
  (
    await db.query<object>(sql`select * from requeue
      where (${goalId}::text is null or goal_id = ${goalId}) and (${taskId}::text is null or task_id = ${taskId})
        and (${after}::text is null or (at, id) > (select at, id from requeue where id = ${after}))
      order by at, id limit ${limit}`)
  ).map((row) => fromRow<Requeue>(row))

export const pageOfEscalations = async (
  db: Queryable,
  { after, limit, goalId, pendingOnly }: Page & { goalId: string | null; pendingOnly: boolean },
): Promise<Escalation[]> =>
  (
    await db.query<object>(sql`select * from escalation
      where (${goalId}::text is null or goal_id = ${goalId}) and (not ${pendingOnly}::boolean or state = 'pending')
        and (${after}::text is null or (created_at, id) > (select created_at, id from escalation where id = ${after}))
      order by created_at, id limit ${limit}`)
  ).map((row) => fromRow<Escalation>(row))

export interface Counts {
  goals: Record<string, number>
  tasks: Record<string, number>
  runs: Record<string, number>
  agents: Record<string, number>
  escalations: Record<string, number>
  recoveries: Record<string, number>
  events: { count: number; last: number }
}

/** The number of rows of each kind, by state. One statement, so that all numbers are of the same moment. */
export const countAll = async (db: Queryable): Promise<Counts> => {
  const rows = await db.query<{ kind: string; state: string; n: number }>(sql`
    select 'goals' as kind, state, count(*)::int as n from goal group by state
    union all select 'tasks', case when block_reason is null then state else state || '(' || block_reason || ')' end, count(*)::int from task group by 2
    union all select 'runs', state, count(*)::int from run group by state
    union all select 'agents', state, count(*)::int from agent_view group by state
    union all select 'escalations', state, count(*)::int from escalation group by state
    union all select 'recoveries', status, count(*)::int from recovery group by status
    order by 1, 2`)
  const countsOf = (kind: string): Record<string, number> =>
    Object.fromEntries(rows.filter((row) => row.kind === kind).map(({ state, n }) => [state, n]))
  const event = await firstRow<{ count: number }>(db, sql`select count(*)::int as count from event`)
  const last = await stableUpTo(db)
  return {
    goals: countsOf('goals'),
    tasks: countsOf('tasks'),
    runs: countsOf('runs'),
    agents: countsOf('agents'),
    escalations: countsOf('escalations'),
    recoveries: countsOf('recoveries'),
    events: { count: event?.count ?? 0, last },
  }
}
