/**
 * All statements on recoveries: the persisted intent of an action, then the outcome of its post-condition. Budgets are
 * counts of these rows, so they survive restarts. The `recovery` event is written once, with the outcome.
 */
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

export interface Recovery {
  id: string
  goalId: string
  taskId: string
  runId: string
  /** The harness that failed (`worker` in the public event). */
  worker: string
  playbook: string
  rung: number
  scope: 'launch' | 'run' | 'task' | 'goal'
  label: string
  signature: string
  issueDetected: string
  action: Record<string, unknown> & { type: string; name: string }
  actionKey: string
  postCondition: Record<string, unknown> & { type: string }
  status: 'acting' | 'success' | 'failed'
  counted: boolean
  attempt: number
  detail: string
  startedAt: Date
  decidedAt: Date | null
}

export type NewRecovery = Omit<
  Recovery,
  'status' | 'detail' | 'startedAt' | 'decidedAt' | 'action' | 'postCondition'
> & {
  action: object
  postCondition: object
}

export const insertRecovery = async (tx: Queryable, entry: NewRecovery): Promise<void> => {
  await tx.query(sql`
    insert into recovery (id, goal_id, task_id, run_id, worker, playbook, rung, scope, label, signature, issue_detected, action, action_key,
      post_condition, status, counted, attempt)
    values (${entry.id}, ${entry.goalId}, ${entry.taskId}, ${entry.runId}, ${entry.worker}, ${entry.playbook}, ${entry.rung}, ${entry.scope},
      ${entry.label}, ${entry.signature}, ${entry.issueDetected}, ${json(entry.action)}::jsonb, ${entry.actionKey},
      ${json(entry.postCondition)}::jsonb, 'acting', ${entry.counted}, ${entry.attempt})`)
  await appendEvent(tx, {
    type: 'recovery.started',
    goalId: entry.goalId,
    taskId: entry.taskId,
    runId: entry.runId,
    payload: {
      recovery: entry.id,
      playbook: entry.playbook,
      rung: entry.rung,
      label: entry.label,
      evidence: entry.issueDetected,
      action: entry.action,
      attempt: entry.attempt,
    },
  })
}

/** The old and the new mode of a mode change, so that a person can revert it. */
const modesOf = ({ type, chmod, ...action }: Recovery['action']): object => {
  const change = type === 'chmod' ? action : chmod
  if (typeof change !== 'object' || change === null) return {}
  const { directory, oldMode, newMode } = change as Record<string, unknown>
  return { directory, old_mode: oldMode, new_mode: newMode }
}

/** Stores the outcome of a recovery and records the event. A second call changes nothing. */
export const resolveRecovery = async (
  tx: Queryable,
  id: string,
  status: 'success' | 'failed',
  detail: string,
): Promise<void> => {
  const row = await firstRow<object>(
    tx,
    sql`update recovery set status = ${status}, detail = ${detail}, decided_at = unstuck_now() where id = ${id} and status = 'acting' returning *`,
  )
  if (row === undefined) return
  const resolved = fromRow<Recovery>(row)
  await appendEvent(tx, {
    type: 'recovery',
    goalId: resolved.goalId,
    taskId: resolved.taskId,
    runId: resolved.runId,
    payload: {
      id: resolved.id,
      worker: resolved.worker,
      issue_detected: resolved.issueDetected,
      action_taken: resolved.action.name,
      status,
      retry_count: resolved.attempt,
      playbook: resolved.playbook,
      rung: resolved.rung,
      label: resolved.label,
      detail,
      ...modesOf(resolved.action),
      ms: Number(resolved.decidedAt) - Number(resolved.startedAt),
    },
  })
}

/** Open waits. Their runs have succeeded, so the wait is stored nowhere else. */
export const openWaits = async (db: Queryable): Promise<Recovery[]> =>
  (
    await db.query<object>(
      sql`select * from recovery where status = 'acting' and action ->> 'type' = 'wait' order by started_at, id`,
    )
  ).map((row) => fromRow<Recovery>(row))

/** When a wait ends. */
export const waitEnd = ({ startedAt, action }: Recovery): Date =>
  new Date(startedAt.getTime() + Number(action['delayMs']))

/** Recoveries of a task in its current retry budget, oldest first. */
export const recoveriesOf = async (db: Queryable, taskId: string): Promise<Recovery[]> =>
  (
    await db.query<object>(sql`select recovery.* from recovery
      join task on task.id = recovery.task_id join run on run.id = recovery.run_id
      where recovery.task_id = ${taskId} and run.epoch > task.count_from_epoch
      order by run.epoch, recovery.started_at, recovery.id`)
  ).map((row) => fromRow<Recovery>(row))

export const getRecovery = async (db: Queryable, id: string): Promise<Recovery | undefined> => {
  const row = await firstRow<object>(db, sql`select * from recovery where id = ${id}`)
  return row === undefined ? undefined : fromRow<Recovery>(row)
}

/** Recoveries that one run started, oldest first. */
export const recoveriesOfRun = async (db: Queryable, runId: string): Promise<Recovery[]> =>
  (await db.query<object>(sql`select * from recovery where run_id = ${runId} order by started_at, id`)).map((row) =>
    fromRow<Recovery>(row),
  )

export const listRecoveries = async (db: Queryable, goalId: string | null): Promise<Recovery[]> =>
  (
    await db.query<object>(
      sql`select * from recovery where ${goalId}::text is null or goal_id = ${goalId} order by started_at, id`,
    )
  ).map((row) => fromRow<Recovery>(row))

/** How many recoveries each task of these goals has had; tasks without one are missing. */
export const countRecoveries = async (db: Queryable, goalIds: readonly string[]): Promise<Map<string, number>> => {
  const rows = await db.query<{ task: string; n: number }>(
    sql`select task_id as task, count(*)::int as n from recovery
      where goal_id in (select jsonb_array_elements_text(${json(goalIds)}::jsonb)) group by task_id`,
  )
  return new Map(rows.map(({ task, n }) => [task, n]))
}

/** Decides the recovery that made an AutoFix task of this one, when that task ends. */
export const resolveAutoFix = async (
  tx: Queryable,
  taskId: string,
  status: 'success' | 'failed',
  detail: string,
): Promise<void> => {
  const open = await tx.query<{ id: string }>(
    sql`select id from recovery where task_id = ${taskId} and status = 'acting' and action ->> 'type' in ('solve_conflict', 'answer_objection')`,
  )
  for (const { id } of open) await resolveRecovery(tx, id, status, detail)
}

/** Ignored files and folders of the owner's checkout that a check of some task was missing, and that made it run. */
export const filesThatHelped = async (db: Queryable): Promise<string[]> =>
  (
    await db.query<{
      file: string
    }>(sql`select distinct jsonb_array_elements_text(action->'install'->'files') as file from recovery
      where status = 'success' and action->'install' ? 'files' order by file limit 1000`)
  ).map(({ file }) => file)
