/** What is open of the goals that have not ended. */
import { firstRow, sql, type Queryable } from './db.ts'

type States = Record<'queued' | 'running' | 'failed' | 'blocked', number>

/** Tasks by state; `pendingJudgeTaskCount`: of the blocked ones, those whose finished work waits for the judge. */
export const localBacklog = async (db: Queryable): Promise<{ local: States; pendingJudgeTaskCount: number }> => {
  const row = await firstRow<States & { pendingJudgeTaskCount: number }>(
    db,
    sql`select count(*) filter (where task.state = 'queued')::int as queued, count(*) filter (where task.state = 'running')::int as running,
        count(*) filter (where task.state = 'failed')::int as failed, count(*) filter (where task.state = 'blocked')::int as blocked,
        count(*) filter (where task.state = 'blocked' and block_reason = 'awaiting_judge')::int as "pendingJudgeTaskCount"
      from task join goal on goal.id = task.goal_id where goal.state not in ('done', 'cancelled', 'failed')`,
  )
  if (row === undefined) throw new Error('the store returned no count')
  const { pendingJudgeTaskCount, ...local } = row
  return { local, pendingJudgeTaskCount }
}
