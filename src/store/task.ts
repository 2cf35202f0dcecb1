/**
 * All statements on tasks except the claim, which is in claim.ts. Only `insertTasks`, `moveTask` and the claim write a
 * task's state.
 */
import { areasOf } from '../domain/area.ts'
import { laneOfRole, rankOf } from '../domain/dispatch.ts'
import { mustTransition, transitionOf } from '../domain/flow.ts'
import type { Run } from '../domain/run.ts'
import { autoFixEnded, waitsForAutoFix } from '../domain/rework.ts'
import {
  blockReasonOf,
  isAttempted,
  statusOf,
  readBlockReason,
  stateOf,
  taskFlow,
  type Retry,
  type Task,
  type TaskFields,
  type TaskStatus,
  type TaskState,
  taskEnded,
  takenOverAt,
  secondsUntil,
  type TakenOver,
} from '../domain/task.ts'
import { linkAt, linkRetry, type AwaitedLink, type TaskReview } from '../domain/task-review.ts'
import { fromRow, json, firstRow, mustSucceed, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { expireAgentQuestion } from './escalation.ts'
import { appendEvent, recording, storeNow } from './event.ts'
import { freeAreasOfChanged, lockGoal, moveDependents, refreshReady } from './goal.ts'
import { pathsGrantedTo } from './path-grant.ts'
import { resolveAutoFix } from './recovery.ts'

interface TaskRow {
  state: TaskState
  block_reason: string | null
  retry_at: Date | null
  retry: Omit<Retry, 'at'> | null
}

/** What a task has in another form, and what is useless outside a statement: the areas in the database's form, and the position in the queue. */
const columnsOnly = new Set(['state', 'block_reason', 'retry_at', 'retry', 'span', 'rank', 'watched_at'])

export const readTask = (row: object): Task => {
  const { state, block_reason: blockReason, retry_at: at, retry } = row as TaskRow
  const fields = fromRow<Omit<Task, 'status' | 'retry'>>(row, columnsOnly)
  const status = statusOf(state, readBlockReason(blockReason))
  return Object.assign(fields, { status, retry: retry === null || at === null ? null : { ...retry, at } })
}

export type NewTask = Pick<
  Task,
  | 'id'
  | 'goalId'
  | 'number'
  | 'title'
  | 'instructions'
  | 'role'
  | 'allowedPaths'
  | 'deniedPaths'
  | 'commands'
  | 'commandSource'
  | 'dependsOn'
  | 'targetArea'
  | 'harness'
  | 'model'
  | 'priority'
> &
  Partial<
    Pick<
      Task,
      'kind' | 'lane' | 'engineId' | 'contextFiles' | 'judge' | 'rework' | 'originalCommands' | 'review' | 'plan'
    >
  > & {
    /** The task waits for a link, at most for so many seconds until a person is asked. */
    awaitLink?: { waitsFor: string; seconds: number }
  }

type WithAreas = Pick<Task, 'id' | 'targetArea' | 'allowedPaths' | 'rework'>

/** The areas of a task with those of what was granted to it: two runs must not change one path at the same time. */
export const areasWithGrants = async (db: Queryable, task: WithAreas): Promise<string[]> => {
  const own = areasOf(task)
  // A task without areas excludes no other task; a grant must not make it exclude some.
  if (own.length === 0) return own
  const granted = (await pathsGrantedTo(db, task)).flatMap((path) =>
    areasOf({ targetArea: null, allowedPaths: [path] }),
  )
  return [...new Set([...own, ...granted])].sort()
}

export const insertTasks = async (db: Queryable, tasks: NewTask[]): Promise<void> => {
  for (const task of tasks) {
    const areas = json(await areasWithGrants(db, { ...task, rework: task.rework ?? null }))
    const status = mustTransition(taskFlow, '', task.awaitLink === undefined ? 'created' : 'created_for_link')
      .to as TaskStatus
    await db.query(sql`
      insert into task (id, goal_id, number, title, instructions, role, allowed_paths, denied_paths, commands, original_commands,
        command_source, depends_on, target_area, harness, model, priority, lane, areas, span, rank, engine_id, context_files, judge, rework, review, plan, link, kind, state, block_reason,
        retry, retry_at)
      values (${task.id}, ${task.goalId}, ${task.number}, ${task.title}, ${task.instructions}, ${task.role}, ${json(task.allowedPaths)}::jsonb,
        ${json(task.deniedPaths)}::jsonb, ${json(task.commands)}::jsonb, ${json(task.originalCommands ?? task.commands)}::jsonb, ${task.commandSource}, ${json(task.dependsOn)}::jsonb,
        ${task.targetArea}, ${task.harness}, ${task.model}, ${task.priority}, ${task.lane ?? laneOfRole(task.role)}, ${areas}::jsonb,
        area_spans(${areas}::jsonb), extract(epoch from unstuck_now()) + ${rankOf(task.priority, 0)}::float8, ${task.engineId ?? null},
        ${json(task.contextFiles ?? [])}::jsonb, ${task.judge ?? null}, ${task.rework === undefined || task.rework === null ? null : json(task.rework)}::jsonb,
        ${task.review === undefined || task.review === null ? null : json(task.review)}::jsonb, ${task.plan ?? null},
        ${task.awaitLink === undefined ? null : json({ waitsFor: task.awaitLink.waitsFor, issue: null })}::jsonb, ${task.kind ?? 'code'},
        ${stateOf(status)}, ${blockReasonOf(status)}, ${task.awaitLink === undefined ? null : json(linkRetry)}::jsonb,
        unstuck_now() + make_interval(secs => ${task.awaitLink?.seconds ?? null}::float8))`)
    await appendEvent(db, {
      type: 'task.created',
      goalId: task.goalId,
      taskId: task.id,
      payload: {
        number: task.number,
        title: task.title,
        ...(task.awaitLink === undefined ? {} : { waitsFor: task.awaitLink.waitsFor }),
      },
    })
  }
  const goalId = tasks[0]?.goalId
  if (goalId !== undefined) await refreshReady(db, goalId)
}

export const getTask = async (db: Queryable, id: string): Promise<Task | undefined> => {
  const row = await firstRow<object>(db, sql`select * from task where id = ${id}`)
  return row === undefined ? undefined : readTask(row)
}

export const listTasks = async (db: Queryable, goalId: string | null): Promise<Task[]> =>
  (
    await db.query<object>(
      sql`select * from task where ${goalId}::text is null or goal_id = ${goalId} order by created_at, goal_id, number`,
    )
  ).map(readTask)

export const listTasksOf = async (db: Queryable, goalIds: readonly string[]): Promise<Task[]> =>
  (
    await db.query<object>(sql`select * from task where goal_id in (select jsonb_array_elements_text(${json(goalIds)}::jsonb))
      order by created_at, goal_id, number`)
  ).map(readTask)

export interface TaskChange {
  retry?: Retry | null
  commands?: string[]
  /** The task continues with this harness. */
  harness?: string
  /** Whether a person's retry starts a new retry budget. */
  resetBudget?: boolean
  /** Replaces the current hint; null = no hint. */
  hint?: string | null
  /** Null = agents work on it again. Absent = derived from the new state. */
  takenOver?: TakenOver | null
  /** The task that continues this one. */
  supersededBy?: string
  link?: AwaitedLink
  review?: TaskReview
}

/** The task, or one further up its line, that waits for an AutoFix task. */
const waitingParentOf = async (db: Queryable, { rework }: Task): Promise<Task | undefined> => {
  const parent = rework === null ? undefined : await getTask(db, rework.parent)
  return parent === undefined || waitsForAutoFix(parent) ? parent : waitingParentOf(db, parent)
}

/**
 * In the transaction that ends a task: one that waited for it ends with it if the work landed, and otherwise continues, so that no
 * way in which an AutoFix task can end leaves its parent without a next step.
 */
const endAutoFix = async (db: Queryable, ended: Task): Promise<void> => {
  // What replaces the ended task ends later.
  if (ended.status === 'cancelled' && ended.supersededBy !== null) return
  const parent = await waitingParentOf(db, ended)
  if (parent === undefined) return
  if (ended.status === 'cancelled') {
    const retry = { reason: autoFixEnded, at: await storeNow(db), count: 1, limit: 1 }
    await resolveAutoFix(db, parent.id, 'failed', `task ${ended.number} ended without a result`)
    mustSucceed(await postponeTask(db, parent, retry))
    // The parent does the work again, so its loss is not the goal's.
    await db.query(sql`update task set superseded_by = ${parent.id} where id = ${ended.id}`)
    return
  }
  const payload = { reason: 'superseded_by_rework', child: ended.number, childId: ended.id }
  await resolveAutoFix(db, parent.id, 'success', `task ${ended.number} corrected the work, and it was merged`)
  mustSucceed(await moveTask(db, parent, 'superseded', { supersededBy: ended.id, payload }))
  await moveDependents(db, parent.goalId, { from: parent.id, to: ended.id })
  await endAutoFix(db, { ...ended, rework: parent.rework })
}

/** A scheduled start as the views show it, so that a reader of the events sees the same countdown. */
const retryPayload = async (db: Queryable, retry: Retry | null): Promise<Record<string, unknown>> =>
  retry === null ? {} : { retry: { ...retry, inSeconds: secondsUntil(retry.at, await storeNow(db)) } }

/**
 * Moves a task along its flow table and records the event; recomputes which tasks of the goal are ready when that may
 * change. `stale` if another writer changed the task first.
 */
export const moveTask = async (
  db: Queryable,
  task: Task,
  trigger: string,
  change: TaskChange & { runId?: string; payload?: Record<string, unknown> } = {},
): Promise<MoveResult<Task>> => {
  const step = transitionOf(taskFlow, task.status, trigger)
  if (!step.ok) return step
  const to = step.row.to as TaskStatus
  const retry = change.retry ?? null
  const takenOver = change.takenOver === undefined ? takenOverAt(to, task.takenOver) : change.takenOver
  const link = linkAt(to, change.link ?? task.link)
  const payload = { from: task.status, to, trigger, ...(await retryPayload(db, retry)), ...change.payload }
  const event = { type: step.row.event, goalId: task.goalId, taskId: task.id, runId: change.runId ?? null, payload }
  const update = sql`update task set state = ${stateOf(to)}, block_reason = ${blockReasonOf(to)},
      retry = ${retry === null ? null : json({ reason: retry.reason, count: retry.count, limit: retry.limit })}::jsonb,
      retry_at = ${retry?.at ?? null}, commands = coalesce(${change.commands === undefined ? null : json(change.commands)}::jsonb, commands),
      harness = coalesce(${change.harness ?? null}, harness),
      link = ${link === null ? null : json(link)}::jsonb,
      review = coalesce(${change.review === undefined ? null : json(change.review)}::jsonb, review),
      pending_edit = case when ${to === 'done'} then null else pending_edit end,
      taken_over = ${takenOver === null ? null : json(takenOver)}::jsonb,
      watched_at = case when ${to === 'blocked(awaiting_judge)'} then unstuck_now() else null end,
      superseded_by = case when ${to === 'cancelled'} then coalesce(${change.supersededBy ?? null}, superseded_by) else null end,
      hint = case when ${change.hint !== undefined} then ${change.hint ?? null} else hint end,
      count_from = case when ${change.resetBudget ?? false} then unstuck_now() else count_from end,
      count_from_epoch = case when ${change.resetBudget ?? false} then epoch else count_from_epoch end,
      version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`
  const [, row] = await Promise.all([
    lockGoal(db, task.goalId),
    firstRow<object>(db, recording(update, event, freeAreasOfChanged)),
  ])
  if (row === undefined) return stale(`task ${task.id}`)
  if (taskEnded(to)) await expireAgentQuestion(db, task.id)
  const moved = readTask(row)
  if (taskEnded(to)) await endAutoFix(db, moved)
  if (to === 'done' || to === 'cancelled' || to === 'queued') await refreshReady(db, task.goalId)
  if (moved.pendingEdit === null || isAttempted(to)) return { ok: true, value: moved }
  return writeFields(db, moved, moved.pendingEdit)
}

/** A task that waits for rework waits once more. `stale` if another writer changed it first. */
export const postponeTask = async (db: Queryable, task: Task, retry: Retry): Promise<MoveResult<Task>> => {
  const { reason, at, count, limit } = retry
  const row = await firstRow<object>(
    db,
    sql`update task set retry = ${json({ reason, count, limit })}::jsonb, retry_at = ${at}, version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} and block_reason = 'needs_rework' returning *`,
  )
  return row === undefined ? stale(`task ${task.id}`) : { ok: true, value: readTask(row) }
}

/** A person's change of anything but the name. A task that has ended begins its new count when the person retries it. */
const beginsCount = ({ status }: Task, { title: _title, ...rest }: Partial<TaskFields>): boolean =>
  Object.keys(rest).length > 0 && !taskEnded(status)

/** The reason of a wait for rework after a person changed the task: its next start is a first one. */
export const editedReason = 'edited_by_person'

/**
 * Writes new fields and what is derived from them. Checks that a person names become the task's own, with nothing dropped. What
 * failed before says little about the changed task, so recoveries and requeues are counted from zero, as after a retry.
 */
const writeFields = async (db: Queryable, task: Task, fields: Partial<TaskFields>): Promise<MoveResult<Task>> => {
  const next = { ...task, ...fields }
  const areas = json(await areasWithGrants(db, next))
  const isNew = beginsCount(task, fields)
  const retry = { reason: editedReason, count: 1, limit: 1 }
  const named = fields.commands !== undefined
  const row = await firstRow<object>(
    db,
    sql`update task set title = ${next.title}, instructions = ${next.instructions},
      allowed_paths = ${json(next.allowedPaths)}::jsonb, denied_paths = ${json(next.deniedPaths)}::jsonb,
      commands = ${json(next.commands)}::jsonb, original_commands = ${json(named ? next.commands : task.originalCommands)}::jsonb,
      command_source = ${named ? 'task' : task.commandSource}, harness = ${next.harness}, model = ${next.model},
      areas = ${areas}::jsonb, span = area_spans(${areas}::jsonb), pending_edit = null,
      count_from = case when ${isNew} then unstuck_now() else count_from end,
      count_from_epoch = case when ${isNew} then epoch else count_from_epoch end,
      retry = case when ${isNew} and block_reason = 'needs_rework' then ${json(retry)}::jsonb else retry end,
      version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`,
  )
  return row === undefined ? stale(`task ${task.id}`) : { ok: true, value: readTask(row) }
}

/** Keeps an edit for later, because an attempt is in progress and must finish with what it started with. */
const keepEdit = async (db: Queryable, task: Task, fields: Partial<TaskFields>): Promise<MoveResult<Task>> => {
  const row = await firstRow<object>(
    db,
    sql`update task set pending_edit = ${json({ ...task.pendingEdit, ...fields })}::jsonb, version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`,
  )
  return row === undefined ? stale(`task ${task.id}`) : { ok: true, value: readTask(row) }
}

/** Applies a person's edit and records the event: at once, or for the attempts after the current one. */
export const editTask = async (
  db: Queryable,
  task: Task,
  fields: Partial<TaskFields>,
  payload: Record<string, unknown>,
): Promise<MoveResult<Task>> => {
  await lockGoal(db, task.goalId)
  const later = isAttempted(task.status)
  const edited = await (later ? keepEdit : writeFields)(db, task, fields)
  if (!edited.ok) return edited
  await appendEvent(db, {
    type: 'task.edited',
    goalId: task.goalId,
    taskId: task.id,
    payload: { ...payload, counts: later ? 'next attempt' : 'now' },
  })
  return edited
}

/** Keeps a person's hint for the next attempts of a task that is not retried, because it waits for one or is in one. */
export const keepHint = async (
  db: Queryable,
  task: Task,
  { hint, by }: { hint: string | null; by: string },
): Promise<MoveResult<Task>> => {
  const row = await firstRow<object>(
    db,
    sql`update task set hint = ${hint}, version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`,
  )
  if (row === undefined) return stale(`task ${task.id}`)
  await appendEvent(db, {
    type: 'task.edited',
    goalId: task.goalId,
    taskId: task.id,
    payload: {
      ...{ by, why: '', widened: [], changes: [{ field: 'hint', before: task.hint ?? '', after: hint ?? '' }] },
      counts: task.status === 'running' ? 'next attempt' : 'now',
    },
  })
  return { ok: true, value: readTask(row) }
}

/**
 * Replaces the commands of a running task. Fenced by the epoch of the run that decided it; false = another run owns
 * the task.
 */
export const setTaskCommands = async (db: Queryable, run: Run, commands: string[]): Promise<boolean> => {
  const row = await firstRow<object>(
    db,
    sql`update task set commands = ${json(commands)}::jsonb, version = version + 1, changed_at = unstuck_now()
    where id = ${run.taskId} and epoch = ${run.epoch} and state = 'running' returning id`,
  )
  return row !== undefined
}
