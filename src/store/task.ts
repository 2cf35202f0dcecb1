/** All statements on tasks, the claim among them. A state is written by `insertTasks`, `claimTask` and `moveTask` alone. */
import { areasOf } from '../domain/area.ts'
import { laneOfRole, laneSlot, rankOf, standardLanes, type LaneLimits } from '../domain/dispatch.ts'
import { mustStep, stepOf } from '../domain/flow.ts'
import { keepAliveMs, type Lease } from '../domain/lease.ts'
import { freshRun, runFlow, type Run } from '../domain/run.ts'
import {
  blockReasonOf,
  placeOf,
  readBlockReason,
  stateOf,
  taskFlow,
  type Retry,
  type Task,
  type TaskPlace,
  type TaskState,
} from '../domain/task.ts'
import { fromRow, json, one, sql, stale, type Moved, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { lockGoal, refreshReady } from './goal.ts'
import { readRun } from './run.ts'

type TaskRow = Omit<Task, 'place' | 'retry'> & {
  state: TaskState
  blockReason: string | null
  retryAt: Date | null
  retry: object | null
  /** The areas as the database compares them, and the place in the queue: of no use outside a statement. */
  span: unknown
  rank: number
}

export const readTask = (row: object): Task => {
  const { state, blockReason, retryAt, retry, span: _span, rank: _rank, ...rest } = fromRow<TaskRow>(row)
  const place = placeOf(state, readBlockReason(blockReason))
  return {
    ...rest,
    place,
    retry: retry === null || retryAt === null ? null : { ...(retry as Omit<Retry, 'at'>), at: retryAt },
  }
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
  Partial<Pick<Task, 'lane' | 'engineId'>>

export const insertTasks = async (db: Queryable, tasks: NewTask[]): Promise<void> => {
  for (const task of tasks) {
    const areas = json(areasOf(task))
    await db.query(sql`
      insert into task (id, goal_id, number, title, instructions, role, allowed_paths, denied_paths, commands, original_commands,
        command_source, depends_on, target_area, harness, model, priority, lane, areas, span, rank, engine_id, state)
      values (${task.id}, ${task.goalId}, ${task.number}, ${task.title}, ${task.instructions}, ${task.role}, ${json(task.allowedPaths)}::jsonb,
        ${json(task.deniedPaths)}::jsonb, ${json(task.commands)}::jsonb, ${json(task.commands)}::jsonb, ${task.commandSource}, ${json(task.dependsOn)}::jsonb,
        ${task.targetArea}, ${task.harness}, ${task.model}, ${task.priority}, ${task.lane ?? laneOfRole(task.role)}, ${areas}::jsonb,
        area_spans(${areas}::jsonb), extract(epoch from unstuck_now()) + ${rankOf(task.priority, 0)}::float8, ${task.engineId ?? null}, 'queued')`)
    await appendEvent(db, {
      type: 'task.created',
      goalId: task.goalId,
      taskId: task.id,
      payload: { number: task.number, title: task.title },
    })
  }
  const goalId = tasks[0]?.goalId
  if (goalId !== undefined) await refreshReady(db, goalId)
}

export const getTask = async (db: Queryable, id: string): Promise<Task | undefined> => {
  const row = await one<object>(db, sql`select * from task where id = ${id}`)
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

export const runningTasks = async (db: Queryable): Promise<Task[]> =>
  (await db.query<object>(sql`select * from task where state = 'running' order by id`)).map(readTask)

/** Failed tasks, and those parked for a quota, whose persisted retry time has come by the store's clock. */
export const dueTasks = async (db: Queryable): Promise<Task[]> =>
  (
    await db.query<object>(
      sql`select * from task where (state = 'failed' or block_reason = 'quota_wait') and retry_at <= unstuck_now() order by retry_at`,
    )
  ).map(readTask)

/** When the next retry comes due; undefined when none waits. */
export const nextRetryAt = async (db: Queryable): Promise<Date | undefined> =>
  (
    await one<{ at: Date | null }>(
      db,
      sql`select min(retry_at) as at from task where state = 'failed' or block_reason = 'quota_wait'`,
    )
  )?.at ?? undefined

export interface TaskChange {
  retry?: Retry | null
  commands?: string[]
  /** It goes on with another one. */
  harness?: string
  /** A person's retry begins a new count of recoveries. */
  newCount?: boolean
}

/** Moves a task along its flow table with its event, and recomputes the readiness of its goal's tasks when that can change. */
export const moveTask = async (
  db: Queryable,
  task: Task,
  trigger: string,
  change: TaskChange & { runId?: string; payload?: Record<string, unknown> } = {},
): Promise<Moved<Task>> => {
  const step = stepOf(taskFlow, task.place, trigger)
  if (!step.ok) return step
  const to = step.row.to as TaskPlace
  const retry = change.retry ?? null
  await lockGoal(db, task.goalId)
  const row = await one<object>(
    db,
    sql`update task set state = ${stateOf(to)}, block_reason = ${blockReasonOf(to)},
      retry = ${retry === null ? null : json({ reason: retry.reason, count: retry.count, limit: retry.limit })}::jsonb,
      retry_at = ${retry?.at ?? null}, commands = coalesce(${change.commands === undefined ? null : json(change.commands)}::jsonb, commands),
      harness = coalesce(${change.harness ?? null}, harness),
      count_from = case when ${change.newCount ?? false} then unstuck_now() else count_from end,
      version = version + 1, changed_at = unstuck_now()
    where id = ${task.id} and version = ${task.version} returning *`,
  )
  if (row === undefined) return stale(`task ${task.id}`)
  const payload = { from: task.place, to, trigger, ...change.payload }
  await appendEvent(db, {
    type: step.row.event,
    goalId: task.goalId,
    taskId: task.id,
    runId: change.runId ?? null,
    payload,
  })
  if (to === 'done' || to === 'cancelled' || to === 'queued') await refreshReady(db, task.goalId)
  const moved = readTask(row)
  return { ok: true, value: moved }
}

/** Drops a command from a task's plan while it runs. Fenced by the epoch of the run that decided it. */
export const setTaskCommands = async (db: Queryable, run: Run, commands: string[]): Promise<boolean> => {
  const row = await one<object>(
    db,
    sql`update task set commands = ${json(commands)}::jsonb, version = version + 1, changed_at = unstuck_now()
    where id = ${run.taskId} and epoch = ${run.epoch} and state = 'running' returning id`,
  )
  return row !== undefined
}

export interface ClaimRequest {
  agentId: string
  runId: string
  ttlSeconds: number
  /** Harnesses that can be started where the agent is. Absent = every one. */
  harnesses?: readonly string[]
  /** Harnesses that cannot be started now and which of `harnesses` stands in for each, for tasks that name no model. */
  standIns?: Readonly<Record<string, string>>
  lanes?: LaneLimits
}

export interface Claim {
  task: Task
  run: Run
  lease: Lease
}

interface Claimer {
  id: string
  role: string
  engineId: string | null
}

/** An idle agent of an engine that takes new work. */
const claimerOf = async (tx: Queryable, agentId: string): Promise<Claimer | undefined> => {
  const row = await one<object>(
    tx,
    sql`select agent.id, agent.role, agent.engine_id from agent left join engine on engine.id = agent.engine_id
    where agent.id = ${agentId} and agent.state = 'idle' and (engine.id is null or engine.state = 'online')`,
  )
  return row === undefined ? undefined : fromRow<Claimer>(row)
}

/** Tasks and lanes that this claim has found taken. */
interface Closed {
  tasks: string[]
  lanes: string[]
}

/** What a query asks of a task's harness: that it, or one that stands in for it, can be started. */
const startable = ({ harnesses, standIns }: ClaimRequest) => ({
  any: harnesses === undefined,
  listed: json(harnesses ?? []),
  replaced: json(standIns ?? {}),
})

/** The first claimable task of the queue that this agent can do and whose areas are free. */
const candidateFor = (
  tx: Queryable,
  { role, engineId }: Claimer,
  request: ClaimRequest,
  closed: Closed,
): Promise<object | undefined> => {
  const { any, listed, replaced } = startable(request)
  return one<object>(
    tx,
    sql`select * from task where state = 'queued' and ready
      and (role = ${role} or (${role} = 'worker' and role in ('worker', 'tester', 'docser')))
      and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness))
      and (engine_id is null or engine_id = ${engineId})
      and not ${json(closed.lanes)}::jsonb ? lane and not ${json(closed.tasks)}::jsonb ? id
      and (span is null or not exists (select 1 from lease where lease.span && task.span))
    order by rank, id limit 1 for update skip locked`,
  )
}

interface LaneCount {
  taken: number[]
  features: number
  featuresWait: boolean
  idle: number
}

/** Claims of lanes other than features take turns: each counts what the others hold. */
const countLane = async (tx: Queryable, lane: string, claimer: Claimer, request: ClaimRequest): Promise<LaneCount> => {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('unstuck lanes ' || current_schema(), 0))`)
  const { any, listed, replaced } = startable(request)
  const row = await one<object>(
    tx,
    sql`select
      (select coalesce(jsonb_agg(lane_slot), '[]') from lease where lane = ${lane} and lane_slot is not null) as taken,
      (select count(*)::int from lease where lane = 'feature') as features,
      exists (select 1 from task where state = 'queued' and ready and lane = 'feature'
        and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness))) as features_wait,
      (select count(*)::int from agent where state = 'idle' and engine_id is not distinct from ${claimer.engineId}) as idle`,
  )
  return fromRow<LaneCount>(row ?? {})
}

/**
 * Takes the lease of a task with its areas and its slot of the lane. Undefined = another claim was first: the keys of the
 * lease say so, whatever both saw before.
 */
const takeLease = async (tx: Queryable, task: Task, request: ClaimRequest, slot: number): Promise<object | undefined> =>
  one<object>(
    tx,
    sql`insert into lease (task_id, run_id, agent_id, epoch, expires_at, lane, lane_slot, span)
    values (${task.id}, ${request.runId}, ${request.agentId}, ${task.epoch + 1},
      unstuck_now() + make_interval(secs => ${request.ttlSeconds}::float8), ${task.lane}, ${slot === 0 ? null : slot}::integer,
      area_spans(${json(task.areas)}::jsonb))
    on conflict do nothing returning task_id, run_id, agent_id, epoch, expires_at`,
  )

interface Chosen {
  task: Task
  lease: Lease
}

/** Goes down the queue until a lease is taken or nothing is left. */
const chooseTask = async (tx: Queryable, claimer: Claimer, request: ClaimRequest): Promise<Chosen | undefined> => {
  for (const closed: Closed = { tasks: [], lanes: [] }; ;) {
    const candidate = await candidateFor(tx, claimer, request, closed)
    if (candidate === undefined) return undefined
    const task = readTask(candidate)
    const limits = request.lanes ?? standardLanes
    const slot =
      task.lane === 'feature' ? 0 : laneSlot(task.lane, limits, await countLane(tx, task.lane, claimer, request))
    if (slot === undefined) {
      closed.lanes.push(task.lane)
      continue
    }
    const lease = await takeLease(tx, task, request, slot)
    if (lease !== undefined) return { task, lease: fromRow<Lease>(lease) }
    closed.tasks.push(task.id)
  }
}

/**
 * Takes the most urgent claimable task for an idle agent: task, run, lease and agent change together or not at all. Reads
 * one partial index; of overlapping areas at most one is at work.
 */
export const claimTask = async (tx: Queryable, request: ClaimRequest): Promise<Claim | undefined> => {
  const claimer = await claimerOf(tx, request.agentId)
  const chosen = claimer === undefined ? undefined : await chooseTask(tx, claimer, request)
  if (chosen === undefined) return undefined
  const queued = chosen.task
  const { harnesses = [queued.harness], standIns = {} } = request
  const harness = harnesses.includes(queued.harness) ? queued.harness : (standIns[queued.harness] ?? queued.harness)
  const claimed = await one<object>(
    tx,
    sql`update task set state = ${mustStep(taskFlow, queued.place, 'claimed').to}, epoch = epoch + 1, retry = null, retry_at = null,
      harness = ${harness}, version = version + 1, changed_at = unstuck_now()
    where id = ${queued.id} and version = ${queued.version} returning *`,
  )
  // The candidate is locked since it was chosen; without the move nothing of the claim may stand.
  if (claimed === undefined) throw new Error(`task ${queued.id} changed while it was claimed`)
  const task = readTask(claimed)
  const inserted = await one<object>(
    tx,
    sql`insert into run (id, task_id, goal_id, number, epoch, agent_id, harness, state, phase, launches, spend)
    select ${request.runId}, ${task.id}, ${task.goalId}, coalesce(max(number), 0) + 1, ${task.epoch}::integer, ${request.agentId}, ${task.harness},
      'running', ${freshRun.phase}, ${json(freshRun.launches)}::jsonb, ${json(freshRun.spend)}::jsonb
    from run where task_id = ${task.id} returning *`,
  )
  await tx.query(sql`update agent set state = 'busy', heartbeat_at = unstuck_now() where id = ${request.agentId}`)
  const run = readRun(inserted ?? {})
  const ids = { goalId: task.goalId, taskId: task.id, runId: run.id }
  await appendEvent(tx, {
    type: 'task.claimed',
    ...ids,
    payload: { from: 'queued', to: 'running', agent: request.agentId, epoch: task.epoch },
  })
  await appendEvent(tx, {
    type: mustStep(runFlow, '', 'claimed').event,
    ...ids,
    payload: {
      number: run.number,
      harness: run.harness,
      ...(harness === queued.harness ? {} : { insteadOf: queued.harness }),
      keepAliveMs: keepAliveMs(request.ttlSeconds),
    },
  })
  return { task, run, lease: chosen.lease }
}
