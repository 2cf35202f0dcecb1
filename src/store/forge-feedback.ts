/** All statements on what was done about checks and reviews of pull requests. */
import type { ReviewPoint } from '../domain/judgement.ts'
import { fromRow, json, sql, type Queryable } from './db.ts'

export interface ForgeFeedback {
  /** `check:<name>`, `review:<number>` or `conflict`. */
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

/** The next review whose task is done and that has no answer yet; it counts as answered from now on, so that a crash answers none twice. */
export const takeUnanswered = async (tx: Queryable, goalId: string): Promise<ForgeFeedback | undefined> =>
  (
    await tx.query<object>(sql`update forge_feedback set replied = true from task
      where forge_feedback.goal_id = ${goalId} and task.id = task_id and (key, head) = (
        select key, head from forge_feedback as said join task on task.id = said.task_id
        where said.goal_id = ${goalId} and not said.replied and said.key like 'review:%' and task.state = 'done'
        order by said.created_at, said.key limit 1)
      returning key, head, action, task_id, points, comments`)
  ).map((row) => fromRow<ForgeFeedback>(row))[0]

/** The open pull requests of goals that a person cancelled. */
export const abandonedPullRequests = async (db: Queryable): Promise<{ goalId: string; pullRequest: number }[]> =>
  (
    await db.query<object>(sql`select goal_id, pull_request from forge_link join goal on goal.id = goal_id
      where pull_request_state = 'open' and goal.state = 'cancelled'`)
  ).map((row) => fromRow<{ goalId: string; pullRequest: number }>(row))
