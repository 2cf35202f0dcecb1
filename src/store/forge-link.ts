/** All statements on what links goals to the forge. */
import type { GoalState } from '../domain/goal.ts'
import { firstRow, fromRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { defined } from '../domain/defined.ts'

export interface ForgeLink {
  goalId: string
  /** The issue that the goal came from; null = it came from a person. */
  issue: string | null
  issueUrl: string | null
  pullRequest: number | null
  pullRequestUrl: string | null
  /** The commit of the goal that the branch of the pull request was last given. */
  pushedHead: string | null
  /** Of the pull request; `none` = there is none yet. */
  pullRequestState: 'none' | 'open' | 'merged' | 'closed'
}

export const forgeLinkOf = async (db: Queryable, goalId: string): Promise<ForgeLink | undefined> => {
  const row = await firstRow<object>(db, sql`select * from forge_link where goal_id = ${goalId}`)
  return row === undefined ? undefined : fromRow<ForgeLink>(row)
}

export interface IssueComment {
  goalId: string
  issue: string
  /** Its number; null = none was written yet, 0 = it was about to be written. */
  comment: number | null
  /** What was written last. */
  commentText: string | null
  pullRequestUrl: string | null
}

/** Goals from issues that have not ended, or ended a short time ago. */
export const issueComments = async (db: Queryable): Promise<IssueComment[]> =>
  (
    await db.query<object>(sql`select goal_id, issue, comment, comment_text, pull_request_url from forge_link
      join goal on goal.id = goal_id where issue is not null and (goal.ended_at is null or goal.ended_at > unstuck_now() - interval '1 day')
      order by issue`)
  ).map((row) => fromRow<IssueComment>(row))

export const recordComment = async (
  db: Queryable,
  goalId: string,
  { comment, text }: { comment: number | null; text: string | null },
): Promise<void> => {
  await db.query(sql`update forge_link set comment = ${comment}, comment_text = ${text} where goal_id = ${goalId}`)
}

export interface IssueLink {
  goalId: string
  issue: string
  /** Why the engine took it by itself; null = a person named the issue, or every issue is taken. */
  label: string | null
  /** The change of the issue that a person was asked about last; null = it is as the goal began. */
  issueSeen: string | null
}

/** Goals from issues that have not ended, or about whose issue a question may be open. */
export const linksOfIssues = async (db: Queryable): Promise<IssueLink[]> =>
  (
    await db.query<object>(sql`select goal_id, issue, issue_seen, (select payload ->> 'label' from event
        where event.goal_id = forge_link.goal_id and type = 'goal.issue_taken' order by event.id desc limit 1) as label
      from forge_link join goal on goal.id = goal_id
      where issue is not null and not restart and (goal.ended_at is null or issue_seen is not null) order by issue`)
  ).map((row) => fromRow<IssueLink>(row))

export const recordIssueSeen = async (tx: Queryable, goalId: string, seen: string | null): Promise<void> => {
  await tx.query(sql`update forge_link set issue_seen = ${seen} where goal_id = ${goalId}`)
}

/** The goal is cancelled, and its issue becomes another one. */
export const orderRestart = async (tx: Queryable, goalId: string): Promise<void> => {
  await tx.query(sql`update forge_link set restart = true where goal_id = ${goalId}`)
}

/** Until their issue has another goal, whatever became of theirs. */
export const goalsToRestart = async (db: Queryable): Promise<Pick<IssueLink, 'goalId' | 'issue'>[]> =>
  (
    await db.query<object>(
      sql`select goal_id, issue from forge_link where restart and issue is not null order by issue`,
    )
  ).map((row) => fromRow<Pick<IssueLink, 'goalId' | 'issue'>>(row))

/** The reason of a goal whose issue was not wanted any more before its work began. */
export const withdrawnReason = 'before the work began, its issue was closed or removed, or lost its label'

/** The states of the goals that came from issues, by the issue. One that was withdrawn may be wanted again. */
export const goalsOfIssues = async (db: Queryable): Promise<Map<string, GoalState>> => {
  const rows = await db.query<{ issue: string; state: GoalState }>(
    sql`select forge_link.issue, goal.state from forge_link join goal on goal.id = forge_link.goal_id where issue is not null
      and not (goal.state = 'cancelled' and goal.reason = ${withdrawnReason})`,
  )
  return new Map(rows.map(({ issue, state }) => [issue, state]))
}

/** False = the issue has a goal that was not cancelled. */
export const linkIssue = async (
  tx: Queryable,
  goalId: string,
  issue: { id: string; url: string; label?: string },
): Promise<boolean> => {
  const { id, url, label } = issue
  await tx.query(sql`update forge_link set issue = null where issue = ${id}
    and (restart or goal_id in (select id from goal where state = 'cancelled'))`)
  const row = await firstRow<object>(
    tx,
    sql`insert into forge_link (goal_id, issue, issue_url) values (${goalId}, ${id}, ${url})
      on conflict (issue) do nothing returning goal_id`,
  )
  if (row === undefined) return false
  await appendEvent(tx, {
    type: 'goal.issue_taken',
    goalId,
    payload: { issue: id, url, ...defined({ label }) },
  })
  return true
}

export const recordPushedHead = async (db: Queryable, goalId: string, head: string): Promise<void> => {
  await db.query(sql`insert into forge_link (goal_id, pushed_head) values (${goalId}, ${head})
    on conflict (goal_id) do update set pushed_head = excluded.pushed_head`)
}

export interface SeenPullRequest {
  number: number
  url: string
  state: 'open' | 'merged' | 'closed'
  /** Null = it is not merged. */
  mergeCommit: string | null
}

/** Stores what the forge says of the pull request, with an event. */
export const recordPullRequest = async (
  tx: Queryable,
  goalId: string,
  { number, url, state, mergeCommit }: SeenPullRequest,
): Promise<void> => {
  await tx.query(sql`insert into forge_link (goal_id, pull_request, pull_request_url, pull_request_state, merge_commit)
    values (${goalId}, ${number}, ${url}, ${state}, ${mergeCommit})
    on conflict (goal_id) do update set pull_request = excluded.pull_request, pull_request_url = excluded.pull_request_url,
      pull_request_state = excluded.pull_request_state, merge_commit = coalesce(excluded.merge_commit, forge_link.merge_commit)`)
  await appendEvent(tx, { type: 'goal.pull_request', goalId, payload: { number, url, state } })
}

export interface MergeOfPullRequest {
  goalId: string
  pullRequest: number
  /** As it was seen last; the forge may have merged it since. */
  isOpen: boolean
  mergeCommit: string | null
}

/** Pull requests that are merged, or may be by now. */
export const mergesOfPullRequests = async (db: Queryable): Promise<MergeOfPullRequest[]> =>
  (
    await db.query<object>(sql`select goal_id, pull_request, pull_request_state = 'open' as is_open, merge_commit from forge_link
      where pull_request is not null and (pull_request_state = 'open' or merge_commit is not null) order by pull_request`)
  ).map((row) => fromRow<MergeOfPullRequest>(row))

/** How many pull requests of ready goals wait on the forge. Those of a goal that was cancelled, or landed here, do not count. */
export const countOpenPullRequests = async (db: Queryable): Promise<number> => {
  const row = await firstRow<{ count: number }>(
    db,
    sql`select count(*)::int as count from forge_link join goal on goal.id = forge_link.goal_id
      where pull_request_state = 'open' and goal.state = 'ready'`,
  )
  return row?.count ?? 0
}
