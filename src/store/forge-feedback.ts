/** All statements on what was done about checks and reviews of pull requests. */
import type { ReviewPoint } from '../domain/judgement.ts'
import { fromRow, json, sql, type Queryable } from './db.ts'

export interface ForgeFeedback {
  /** `check:<name>` or `review:<number>`. */
  key: string
  /** The commit that it was said about. */
  head: string
  action: 'run_again' | 'task'
  /** The task that puts it right; null = none was needed. */
  taskId: string | null
  points: ReviewPoint[]
  /** Numbers of the comments on lines, which get an answer each. */
  comments: number[]
}

export const feedbackOfGoal = async (db: Queryable, goalId: string): Promise<ForgeFeedback[]> =>
  (
    await db.query<object>(
      sql`select key, head, action, task_id, points, comments from forge_feedback where goal_id = ${goalId} order by created_at, key`,
    )
  ).map((row) => fromRow<ForgeFeedback>(row))

export const insertFeedback = async (tx: Queryable, goalId: string, given: ForgeFeedback): Promise<void> => {
  const { key, head, action, taskId, points, comments } = given
  await tx.query(sql`insert into forge_feedback (goal_id, key, head, action, task_id, points, comments)
    values (${goalId}, ${key}, ${head}, ${action}, ${taskId}, ${json(points)}::jsonb, ${json(comments)}::jsonb)
    on conflict do nothing`)
}

/** The reviews whose tasks are done and that nobody answered yet; they count as answered from now on. */
export const takeUnanswered = async (tx: Queryable, goalId: string): Promise<ForgeFeedback[]> =>
  (
    await tx.query<object>(sql`update forge_feedback set replied = true from task
      where forge_feedback.goal_id = ${goalId} and not replied and key like 'review:%' and task.id = task_id and task.state = 'done'
      returning key, head, action, task_id, points, comments`)
  ).map((row) => fromRow<ForgeFeedback>(row))

/** The open pull requests of goals that a person cancelled. */
export const abandonedPullRequests = async (db: Queryable): Promise<{ goalId: string; pullRequest: number }[]> =>
  (
    await db.query<object>(sql`select goal_id, pull_request from forge_link join goal on goal.id = goal_id
      where pull_request_state = 'open' and goal.state = 'cancelled'`)
  ).map((row) => fromRow<{ goalId: string; pullRequest: number }>(row))
