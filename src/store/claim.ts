/**
 * The claim: which task an idle agent takes, and its lease. Keys of the lease and of the held areas decide between two
 * concurrent claims. domain/claimability.ts tells people why a task is not claimed: a new condition belongs into both.
 */
import { laneSlot, defaultLanes, type LaneLimits } from '../domain/dispatch.ts'
import { mustTransition } from '../domain/flow.ts'
import { keepAliveMs, type Lease } from '../domain/lease.ts'
import { freshRun, runFlow, type Run } from '../domain/run.ts'
import { taskFlow, type Task } from '../domain/task.ts'
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { readRun } from './run.ts'
import { readTask } from './task.ts'

export interface ClaimRequest {
  agentId: string
  runId: string
  ttlSeconds: number
  /** Harnesses that can be launched on the agent's engine. Absent = all. */
  harnesses?: readonly string[]
  /** For each harness whose account is at its limit, the one that replaces it in tasks that name no model. */
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

/** The agent, if it is idle and its engine is online. */
const claimerOf = async (tx: Queryable, agentId: string): Promise<Claimer | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`select agent.id, agent.role, agent.engine_id from agent_view as agent left join engine on engine.id = agent.engine_id
    where agent.id = ${agentId} and agent.state = 'idle' and (engine.id is null or engine.state = 'online')`,
  )
  return row === undefined ? undefined : fromRow<Claimer>(row)
}

/** Tasks and lanes that this claim has already tried in vain. */
interface Closed {
  tasks: string[]
  lanes: string[]
}

/** Parameters for the condition that a task's harness, or its stand-in, can be launched. */
const startable = ({ harnesses, standIns }: ClaimRequest) => ({
  any: harnesses === undefined,
  listed: json(harnesses ?? []),
  replaced: json(standIns ?? {}),
})

/** Whether any task can be claimed, by some agent. Without one, a pass opens no transaction for its idle agents. */
export const isTaskReady = async (db: Queryable): Promise<boolean> =>
  (await firstRow(db, sql`select 1 from task where state = 'queued' and ready limit 1`)) !== undefined

/** The first ready task in the queue that this agent can run and whose areas are free. */
const candidateFor = (
  tx: Queryable,
  { role, engineId }: Claimer,
  request: ClaimRequest,
  closed: Closed,
): Promise<object | undefined> => {
  const { any, listed, replaced } = startable(request)
  return firstRow<object>(
    tx,
    sql`select * from task where state = 'queued' and ready
      and (role = ${role} or (${role} = 'worker' and role in ('worker', 'tester', 'docser', 'judge')))
      and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness)
        or taken_over ->> 'givenBack' = 'true' or review is not null)
      and (engine_id is null or engine_id = ${engineId})
      and not ${json(closed.lanes)}::jsonb ? lane and not ${json(closed.tasks)}::jsonb ? id
      and (span is null or not exists (select 1 from area_hold where area_hold.span && task.span))
    order by rank, id limit 1 for update skip locked`,
  )
}

interface LaneCount {
  taken: number[]
  features: number
  featuresWait: boolean
  idle: number
}

/** Claims in lanes other than `feature` are serialised, because each counts the slots that the others have taken. */
const countLane = async (tx: Queryable, lane: string, claimer: Claimer, request: ClaimRequest): Promise<LaneCount> => {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('unstuck lanes ' || current_schema(), 0))`)
  const { any, listed, replaced } = startable(request)
  const row = await firstRow<object>(
    tx,
    sql`select
      (select coalesce(jsonb_agg(lane_slot), '[]') from lease where lane = ${lane} and lane_slot is not null) as taken,
      (select count(*)::int from lease where lane = 'feature') as features,
      exists (select 1 from task where state = 'queued' and ready and lane = 'feature'
        and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness))) as features_wait,
      (select count(*)::int from agent_view where state = 'idle' and engine_id is not distinct from ${claimer.engineId}) as idle`,
  )
  return fromRow<LaneCount>(row ?? {})
}

/** Takes the areas of a task. They outlive its lease and are released when its work is merged or given up. */
const holdAreas = async (tx: Queryable, task: Task): Promise<boolean> => {
  if (task.areas.length === 0) return true
  const row = await firstRow<object>(
    tx,
    sql`insert into area_hold (task_id, span) select id, span from task where id = ${task.id}
    on conflict do nothing returning task_id`,
  )
  return row !== undefined
}

/** Takes the areas of a task, then its lease with its slot of the lane. Undefined = another claim took one of them first. */
const takeLease = async (
  tx: Queryable,
  task: Task,
  request: ClaimRequest,
  slot: number,
): Promise<object | undefined> => {
  if (!(await holdAreas(tx, task))) return undefined
  const lease = await firstRow<object>(
    tx,
    sql`insert into lease (task_id, run_id, agent_id, epoch, expires_at, lane, lane_slot)
    values (${task.id}, ${request.runId}, ${request.agentId}, ${task.epoch + 1},
      unstuck_now() + make_interval(secs => ${request.ttlSeconds}::float8), ${task.lane}, ${slot === 0 ? null : slot}::integer)
    on conflict do nothing returning task_id, run_id, agent_id, epoch, expires_at`,
  )
  if (lease === undefined) await tx.query(sql`delete from area_hold where task_id = ${task.id}`)
  return lease
}

interface Chosen {
  task: Task
  lease: Lease
}

/** Tries the tasks in the order of the queue until a lease is taken; undefined = there is none for this agent. */
const chooseTask = async (tx: Queryable, claimer: Claimer, request: ClaimRequest): Promise<Chosen | undefined> => {
  for (const closed: Closed = { tasks: [], lanes: [] }; ;) {
    const candidate = await candidateFor(tx, claimer, request, closed)
    if (candidate === undefined) return undefined
    const task = readTask(candidate)
    const limits = request.lanes ?? defaultLanes
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

/** Moves a chosen task to `running`. */
const startTask = async (tx: Queryable, queued: Task, request: ClaimRequest): Promise<Task> => {
  const { harnesses = [queued.harness], standIns = {} } = request
  const harness = harnesses.includes(queued.harness) ? queued.harness : (standIns[queued.harness] ?? queued.harness)
  const row = await firstRow<object>(
    tx,
    sql`update task set state = ${mustTransition(taskFlow, queued.status, 'claimed').to}, epoch = epoch + 1, retry = null, retry_at = null,
      harness = ${harness}, version = version + 1, changed_at = unstuck_now()
    where id = ${queued.id} and version = ${queued.version} returning *`,
  )
  // The candidate has been locked since it was chosen, so this is a bug; throwing rolls the whole claim back.
  if (row === undefined) throw new Error(`task ${queued.id} changed while it was claimed`)
  return readTask(row)
}

const insertRun = async (tx: Queryable, task: Task, { runId, agentId }: ClaimRequest): Promise<Run> => {
  const row = await firstRow<object>(
    tx,
    sql`insert into run (id, task_id, goal_id, number, epoch, agent_id, harness, state, phase, launches, spend)
    select ${runId}, ${task.id}, ${task.goalId}, coalesce(max(number), 0) + 1, ${task.epoch}::integer, ${agentId}, ${task.harness},
      'running', ${freshRun.phase}, ${json(freshRun.launches)}::jsonb, ${json(freshRun.spend)}::jsonb
    from run where task_id = ${task.id} returning *`,
  )
  return readRun(row ?? {})
}

const recordClaim = async (tx: Queryable, { task, run }: Claim, wanted: string, ttlSeconds: number): Promise<void> => {
  const ids = { goalId: task.goalId, taskId: task.id, runId: run.id }
  await appendEvent(tx, {
    type: 'task.claimed',
    ...ids,
    payload: { from: 'queued', to: 'running', agent: run.agentId, epoch: task.epoch },
  })
  await appendEvent(tx, {
    type: mustTransition(runFlow, '', 'claimed').event,
    ...ids,
    payload: {
      number: run.number,
      harness: run.harness,
      ...(run.harness === wanted ? {} : { insteadOf: wanted }),
      keepAliveMs: keepAliveMs(ttlSeconds),
    },
  })
}

/**
 * Claims the first task in the queue that an idle agent can run; undefined = there is none. Task, run and lease change in
 * the caller's transaction. Reads one partial index, so the cost does not grow with the tasks that have ended.
 */
export const claimTask = async (tx: Queryable, request: ClaimRequest): Promise<Claim | undefined> => {
  const claimer = await claimerOf(tx, request.agentId)
  const chosen = claimer === undefined ? undefined : await chooseTask(tx, claimer, request)
  if (chosen === undefined) return undefined
  const task = await startTask(tx, chosen.task, request)
  const run = await insertRun(tx, task, request)
  await tx.query(sql`update agent set heartbeat_at = unstuck_now() where id = ${request.agentId}`)
  const claim = { task, run, lease: chosen.lease }
  await recordClaim(tx, claim, chosen.task.harness, request.ttlSeconds)
  return claim
}
