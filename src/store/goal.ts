/**
 * All statements on goals. Only `moveGoal` writes a state; `progressGoal` writes everything else, with the same fence.
 */
import { transitionOf } from '../domain/flow.ts'
import { defaultBranchPrefix, goalFlow, type Goal, type GoalLanding, type GoalState } from '../domain/goal.ts'
import type { Task } from '../domain/task.ts'
import { fromRow, json, firstRow, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { forgetLeftovers, setLeftovers } from './goal-leftover.ts'
import { notifyOfGoal } from './notification.ts'

export type NewGoal = Pick<
  Goal,
  | 'id'
  | 'title'
  | 'requirement'
  | 'repoMode'
  | 'targetBranch'
  | 'baseCommit'
  | 'headCommit'
  | 'autoMerge'
  | 'allowedDirs'
  | 'limits'
  | 'spend'
> &
  Partial<Pick<Goal, 'judge' | 'branchPrefix'>>

/** Stores a new goal in state `planning`, with its event. */
export const insertGoal = async (db: Queryable, goal: NewGoal): Promise<Goal> => {
  const row = await firstRow<object>(
    db,
    sql`insert into goal (id, title, requirement, state, repo_mode, target_branch, base_commit, head_commit, auto_merge, allowed_dirs, limits, spend, judge, branch_prefix)
    values (${goal.id}, ${goal.title}, ${goal.requirement}, 'planning', ${goal.repoMode}, ${goal.targetBranch}, ${goal.baseCommit},
      ${goal.headCommit}, ${goal.autoMerge}, ${json(goal.allowedDirs)}::jsonb, ${json(goal.limits)}::jsonb, ${json(goal.spend)}::jsonb, ${goal.judge ?? null}, ${goal.branchPrefix ?? defaultBranchPrefix})
    returning *`,
  )
  await appendEvent(db, {
    type: 'goal.created',
    goalId: goal.id,
    payload: { title: goal.title, repoMode: goal.repoMode },
  })
  return fromRow<Goal>(row ?? {})
}

export const getGoal = async (db: Queryable, id: string): Promise<Goal | undefined> => {
  const row = await firstRow<object>(db, sql`select * from goal where id = ${id}`)
  return row === undefined ? undefined : fromRow<Goal>(row)
}

export const listGoals = async (db: Queryable): Promise<Goal[]> =>
  (await db.query<object>(sql`select * from goal order by created_at desc, id`)).map((row) => fromRow<Goal>(row))

/** All goals that may still continue; a failed goal can be retried. */
export const listUnendedGoals = async (db: Queryable): Promise<Goal[]> =>
  (
    await db.query<object>(
      sql`select * from goal where state not in ('done', 'cancelled') order by created_at desc, id`,
    )
  ).map((row) => fromRow<Goal>(row))

/** Goals that have landed and whose target is not checked yet, in the order in which they landed. */
export const goalsToCheck = async (db: Queryable): Promise<Goal[]> =>
  (
    await db.query<object>(
      sql`select * from goal where landing -> 'target' ->> 'state' = 'pending' order by ended_at, id`,
    )
  ).map((row) => fromRow<Goal>(row))

/** Landed goals of which it was found since then that a check fails on their target. */
export const goalsWithFailingTarget = async (db: Queryable, since: Date): Promise<Goal[]> =>
  (
    await db.query<object>(
      sql`select * from goal where landing -> 'target' ->> 'state' = 'failed' and changed_at >= ${since} order by ended_at, id`,
    )
  ).map((row) => fromRow<Goal>(row))

/** Goals that have not ended: what the engine reads in every pass must not grow with its history. */
export const listLiveGoals = async (db: Queryable): Promise<Goal[]> =>
  (
    await db.query<object>(
      sql`select * from goal where state not in ('done', 'failed', 'cancelled') order by created_at desc, id`,
    )
  ).map((row) => fromRow<Goal>(row))

/** All goals that have not ended, and the `ended` newest of the others; `wasLeftOut` = how many more there are. */
export const listShownGoals = async (db: Queryable, ended: number): Promise<{ goals: Goal[]; leftOut: number }> => {
  const goals = (
    await db.query<object>(sql`
      select * from goal where state not in ('done', 'failed', 'cancelled') or id in (
        select id from goal where state in ('done', 'failed', 'cancelled') order by created_at desc, id limit ${ended})
      order by created_at desc, id`)
  ).map((row) => fromRow<Goal>(row))
  const all = await firstRow<{ n: number }>(db, sql`select count(*)::int as n from goal`)
  return { goals, leftOut: Math.max(0, (all?.n ?? 0) - goals.length) }
}

/** Stores what a person allows the agents of a goal from their next launch on. */
export const allowInGoal = async (
  tx: Queryable,
  { id, grants, allowedDirs }: Pick<Goal, 'id' | 'grants' | 'allowedDirs'>,
): Promise<void> => {
  await tx.query(sql`update goal set grants = ${json(grants)}::jsonb, allowed_dirs = ${json(allowedDirs)}::jsonb,
    changed_at = unstuck_now() where id = ${id}`)
}

/** A failed goal keeps everything: it can be retried. Work in place has neither a branch nor trees. */
const leavesSomething = ({ state, repoMode }: Goal): boolean =>
  (state === 'done' || state === 'cancelled') && repoMode !== 'direct'

/**
 * Moves a goal along its flow table, records the event and recomputes which of its tasks are ready. `stale` if another
 * writer changed the goal first.
 */
export const moveGoal = async (db: Queryable, goal: Goal, trigger: string, reason = ''): Promise<MoveResult<Goal>> => {
  const step = transitionOf(goalFlow, goal.state, trigger)
  if (!step.ok) return step
  const to = step.row.to as GoalState
  const row = await firstRow<object>(
    db,
    sql`update goal set state = ${to}, reason = ${reason}, version = version + 1, changed_at = unstuck_now(),
      ended_at = case when ${(goalFlow.terminal as readonly string[]).includes(to)} then unstuck_now() else null end
    where id = ${goal.id} and version = ${goal.version} returning *`,
  )
  if (row === undefined) return stale(`goal ${goal.id}`)
  // Work in place has no goal branch, so its events must not name one.
  const mode = goal.repoMode === 'direct' ? { repoMode: goal.repoMode } : {}
  const payload = { from: goal.state, to, trigger, reason, ...mode }
  await appendEvent(db, { type: step.row.event, goalId: goal.id, payload })
  await refreshReady(db, goal.id)
  await freeAreas(db, goal.id)
  const moved = fromRow<Goal>(row)
  if (leavesSomething(moved)) await setLeftovers(db, goal.id, 0)
  else if (leavesSomething(goal)) await forgetLeftovers(db, goal.id)
  await notifyOfGoal(db, moved)
  return { ok: true, value: moved }
}

/**
 * Writes what a goal accumulates besides its state. The spend is added in the statement, so that parallel runs do not
 * overwrite each other. `version` stays unchanged, because no decision about the state depends on these fields.
 */
export const progressGoal = async (
  db: Queryable,
  id: string,
  change: {
    baseCommit?: string
    headCommit?: string
    targetBranch?: string
    spend?: Goal['spend']
    reason?: string
    landing?: Partial<GoalLanding>
  },
): Promise<void> => {
  const add = change.spend ?? { tokens: 0, costUsd: 0, seconds: 0 }
  await db.query(sql`
    update goal set base_commit = coalesce(${change.baseCommit ?? null}, base_commit),
      head_commit = coalesce(${change.headCommit ?? null}, head_commit),
      target_branch = coalesce(${change.targetBranch ?? null}, target_branch), landing = landing || ${json(change.landing ?? {})}::jsonb,
      reason = coalesce(${change.reason ?? null}, reason), changed_at = unstuck_now(),
      spend = jsonb_build_object(
        'tokens', (spend->>'tokens')::float8 + ${add.tokens}::float8,
        'costUsd', (spend->>'costUsd')::float8 + ${add.costUsd}::float8,
        'seconds', (spend->>'seconds')::float8 + ${add.seconds}::float8)
    where id = ${id}`)
  if (change.landing?.outdated !== undefined || change.landing?.broken !== undefined) await refreshReady(db, id)
}

/**
 * Serializes changes to the tasks of one goal. The goal is locked before the task, so that no two transactions wait
 * for each other. Without the lock, two last dependencies that end at the same moment would each see the other as
 * unfinished, and their dependent would never become ready.
 */
export const lockGoal = async (db: Queryable, goalId: string): Promise<void> => {
  await db.query(sql`select 1 from goal where id = ${goalId} for no key update`)
}

/**
 * Whether a task neither runs nor is about to be merged, so that its areas are free. A paused goal merges nothing, and other goals must
 * not wait until a person resumes it.
 */
const needsNoAreas = (task: 'task' | 'changed'): string =>
  `${task}.state <> 'running' and not (${task}.block_reason is not distinct from 'awaiting_judge' and goal.state = 'active')`

/** Frees the areas of all tasks of a goal that do not need them. */
const freeAreas = async (db: Queryable, goalId: string): Promise<void> => {
  await db.query({
    text: `delete from area_hold using task, goal where task.id = area_hold.task_id and goal.id = task.goal_id and goal.id = $1
      and ${needsNoAreas('task')}`,
    values: [goalId],
  })
}

/** For `recording`: frees the areas of a task that does not need them in its new state. */
export const freeAreasOfChanged = `freed as (delete from area_hold using changed, goal
  where area_hold.task_id = changed.id and goal.id = changed.goal_id and ${needsNoAreas('changed')}),`

/**
 * Recomputes which tasks are ready. Readiness is stored, so that a claim reads one partial index. The caller's
 * transaction holds the lock of the goal.
 */
export const refreshReady = async (db: Queryable, goalId: string): Promise<void> => {
  await db.query(sql`
    update task set ready = fresh.ready
    from (
      select t.id, g.state = 'active' and not (g.landing->>'outdated')::boolean
        and g.landing->>'broken' is null and not exists (
        select 1 from jsonb_array_elements_text(t.depends_on) as needed (id)
        left join task d on d.id = needed.id where d.state is distinct from 'done') as ready
      from task t join goal g on g.id = t.goal_id where t.goal_id = ${goalId}
    ) as fresh
    where fresh.id = task.id and task.ready is distinct from fresh.ready`)
}

/** A person's retry of a whole goal starts a new budget. */
export const resetGoalSpend = async (db: Queryable, id: string): Promise<void> => {
  await db.query(sql`update goal set spend = '{"tokens": 0, "costUsd": 0, "seconds": 0}'::jsonb where id = ${id}`)
}

/** The condition of `halfCancelledGoals`, with the parameter that has its seconds. */
export const halfCancelled = (afterSeconds: `$${number}`): string =>
  `state = 'cancelled' and changed_at <= unstuck_now() - make_interval(secs => ${afterSeconds}::float8)
    and (exists (select 1 from task where task.goal_id = goal.id and task.state in ('queued', 'failed', 'blocked'))
      or exists (select 1 from escalation where escalation.goal_id = goal.id and escalation.state = 'pending'
        and escalation.kind <> 'checkout_changed'))`

/**
 * Cancelled goals that still have open tasks or questions: a cancel was interrupted between its two transactions, at
 * least `afterSeconds` ago.
 */
export const halfCancelledGoals = async (db: Queryable, afterSeconds: number): Promise<string[]> =>
  (
    await db.query<{ id: string }>({
      text: `select id from goal where ${halfCancelled('$1')} order by id`,
      values: [afterSeconds],
    })
  ).map(({ id }) => id)

/** Of every goal that has not ended. */
export const liveGoalIds = async (db: Queryable): Promise<string[]> =>
  (
    await db.query<{ id: string }>(
      sql`select id from goal where state not in ('done', 'failed', 'cancelled') order by created_at, id`,
    )
  ).map(({ id }) => id)

/** Whether checks may be running on work that is merged, or on a goal branch that was rebased. */
export const isMergedWorkChecked = async (db: Queryable): Promise<boolean> =>
  (await firstRow(
    db,
    sql`select 1 from merge_entry where state = 'processing' union all
    select 1 from goal where state not in ('done', 'failed', 'cancelled') and (landing ->> 'unverified')::boolean limit 1`,
  )) !== undefined

/** Harness and kind of the tasks that goals in progress have left. A goal that waits for a person is not in progress. */
export const tasksInProgress = (db: Queryable): Promise<Pick<Task, 'harness' | 'kind'>[]> =>
  db.query<Pick<Task, 'harness' | 'kind'>>(
    sql`select distinct harness, kind from task join goal on goal.id = goal_id
    where goal.state in ('planning', 'active') and task.state not in ('done', 'cancelled')
      and not exists (select 1 from escalation where escalation.goal_id = goal.id and escalation.state = 'pending'
        and escalation.kind not in ('checkout_changed', 'issue_changed', 'unsigned_commits'))
    order by harness, kind`,
  )

/** What depends on `from` depends on `to` from now on. The caller's transaction holds the lock of the goal. */
export const moveDependents = async (
  tx: Queryable,
  goalId: string,
  { from, to }: { from: string; to: string },
): Promise<void> => {
  await tx.query(sql`
    update task set depends_on = (
      select jsonb_agg(case when needed.id = ${from} then ${to} else needed.id end order by needed.position)
      from jsonb_array_elements_text(depends_on) with ordinality as needed (id, position))
    where goal_id = ${goalId} and id <> ${to} and depends_on ? ${from}`)
  await refreshReady(tx, goalId)
}
