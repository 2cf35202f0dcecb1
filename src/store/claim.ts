/**
 * The claim: which task an idle agent takes, and its lease. Keys of the lease and of the held areas decide between two
 * concurrent claims. domain/claimability.ts tells people why a task is not claimed: a new condition belongs into both.
 */
import { laneSlot, defaultLanes, type LaneLimits } from '../domain/dispatch.ts'
import { mustTransition } from '../domain/flow.ts'
import { keepAliveMs, type Lease } from '../domain/lease.ts'
import { freshRun, runFlow, type Run } from '../domain/run.ts'
import { taskFlow, type Task } from '../domain/task.ts'
import { fromRow, json, firstRow, sql, type Queryable, type Sql } from './db.ts'
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

/** Tasks and lanes that this claim has already tried without success. */
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

/**
 * The first ready task in the queue that this agent can run and whose areas are free, locked. None, unless the agent is idle and its engine
 * online.
 */
const candidateFor = async (tx: Queryable, request: ClaimRequest, closed: Closed): Promise<Task | undefined> => {
  const { any, listed, replaced } = startable(request)
  const row = await firstRow<object>(
    tx,
    sql`with claimer as materialized (
      select agent.role, agent.engine_id from agent_view as agent left join engine on engine.id = agent.engine_id
      where agent.id = ${request.agentId} and agent.state = 'idle' and (engine.id is null or engine.state = 'online'))
    select task.* from claimer, task where task.state = 'queued' and ready
      and (task.role = claimer.role or (claimer.role = 'worker' and task.role in ('worker', 'tester', 'docser', 'judge')))
      and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness)
        or taken_over ->> 'givenBack' = 'true' or review is not null)
      and (task.engine_id is null or task.engine_id = claimer.engine_id)
      and not ${json(closed.lanes)}::jsonb ? lane and not ${json(closed.tasks)}::jsonb ? id
      and (span is null or not exists (select 1 from area_hold where area_hold.span && task.span))
    order by rank, id limit 1 for update of task skip locked`,
  )
  return row === undefined ? undefined : readTask(row)
}

interface LaneCount {
  taken: number[]
  features: number
  featuresWait: boolean
  idle: number
}

/** Claims in lanes other than `feature` are serialised, because each counts the slots that the others have taken. */
const countLane = async (tx: Queryable, lane: string, request: ClaimRequest): Promise<LaneCount> => {
  const lock = sql`select pg_advisory_xact_lock(hashtextextended('unstuck lanes ' || current_schema(), 0))`
  const { any, listed, replaced } = startable(request)
  const count = sql`select
      (select coalesce(jsonb_agg(lane_slot), '[]') from lease where lane = ${lane} and lane_slot is not null) as taken,
      (select count(*)::int from lease where lane = 'feature') as features,
      exists (select 1 from task where state = 'queued' and ready and lane = 'feature'
        and (${any}::boolean or ${listed}::jsonb ? harness or (model is null and ${replaced}::jsonb ? harness))) as features_wait,
      (select count(*)::int from agent_view where state = 'idle'
        and engine_id is not distinct from (select engine_id from agent where id = ${request.agentId})) as idle`
  const [, row] = await Promise.all([tx.query(lock), firstRow<object>(tx, count)])
  return fromRow<LaneCount>(row ?? {})
}

/** What the claim's statement returns besides the columns of the run. */
const notOfRun = new Set(['held', 'leased', 'expires_at', 'task_version', 'task_changed_at'])

interface TakenRow {
  /** Whether this claim got the areas of the task. */
  held: boolean
  /** Whether it got the lease. */
  leased: boolean
  /** Of the run; null = another claim got the areas, the lease or its slot first. */
  id: string | null
  expires_at: Date
  task_version: number
  task_changed_at: Date
}

/** The harness that the task runs with. */
const harnessFor = ({ harness }: Task, { harnesses = [harness], standIns = {} }: ClaimRequest): string =>
  harnesses.includes(harness) ? harness : (standIns[harness] ?? harness)

const eventsOf = (task: Task, harness: string, { agentId, ttlSeconds }: ClaimRequest) => ({
  claimed: { from: 'queued', to: 'running', agent: agentId, epoch: task.epoch + 1 },
  started: {
    harness,
    ...(harness === task.harness ? {} : { insteadOf: task.harness }),
    keepAliveMs: keepAliveMs(ttlSeconds),
  },
})

/**
 * Takes the areas of a task, its lease with its slot of the lane, the task itself and a run, and records that. Each step needs the row of
 * the one before it, so a lost race for the areas or the lease leaves task and runs as they are. Areas outlive the lease: they are freed
 * when the work is merged or given up.
 */
const takeStatement = (task: Task, request: ClaimRequest, slot: number): Sql => {
  const { agentId, runId, ttlSeconds } = request
  const harness = harnessFor(task, request)
  const events = eventsOf(task, harness, request)
  const [move, birth] = [mustTransition(taskFlow, task.status, 'claimed'), mustTransition(runFlow, '', 'claimed')]
  return sql`with held as (
      insert into area_hold (task_id, span) select id, span from task where id = ${task.id} and span is not null
      on conflict do nothing returning task_id),
    leased as (
      insert into lease (task_id, run_id, agent_id, epoch, expires_at, lane, lane_slot)
      select id, ${runId}, ${agentId}, epoch + 1, unstuck_now() + make_interval(secs => ${ttlSeconds}::float8), lane, ${slot === 0 ? null : slot}::integer
      from task where id = ${task.id} and (span is null or id in (select task_id from held))
      on conflict do nothing returning task_id, expires_at),
    started as (
      update task set state = ${move.to}, epoch = epoch + 1, retry = null, retry_at = null,
        harness = ${harness}, version = version + 1, changed_at = unstuck_now()
      from leased where task.id = leased.task_id and task.version = ${task.version} returning task.id, goal_id, task.epoch, harness, version, changed_at, leased.expires_at),
    begun as (
      insert into run (id, task_id, goal_id, number, epoch, agent_id, harness, state, phase, launches, spend)
      select ${runId}, id, goal_id, (select coalesce(max(number), 0) + 1 from run where task_id = started.id), epoch, ${agentId}, harness,
        ${birth.to}, ${freshRun.phase}, ${json(freshRun.launches)}::jsonb, ${json(freshRun.spend)}::jsonb
      from started returning *),
    recorded as (
      insert into event (type, goal_id, task_id, run_id, payload)
      select ${move.event}, goal_id, task_id, id, ${json(events.claimed)}::jsonb from begun union all
      select ${birth.event}, goal_id, task_id, id, jsonb_build_object('number', number) || ${json(events.started)}::jsonb from begun
      returning pg_notify(current_schema()::text, current_setting('application_name')))
    select exists (select from held) as held, exists (select from leased) as leased, started.expires_at, started.version as task_version, started.changed_at as task_changed_at, begun.*
    from (values (1)) as always left join begun on true left join started on true`
}

const readClaim = (row: TakenRow, queued: Task): Claim | undefined => {
  // The candidate has been locked since it was chosen, so this is a bug; throwing rolls the whole claim back.
  if (row.id === null && row.leased) throw new Error(`task ${queued.id} changed while it was claimed`)
  if (row.id === null) return undefined
  const run = fromRow<Run>(row, notOfRun)
  const { epoch, harness, agentId } = run
  const changed = { epoch, harness, retry: null, version: row.task_version, changedAt: row.task_changed_at }
  return {
    task: { ...queued, status: 'running', ...changed },
    run,
    lease: { taskId: queued.id, runId: run.id, agentId, epoch, expiresAt: row.expires_at },
  }
}

const take = async (tx: Queryable, task: Task, request: ClaimRequest, slot: number): Promise<Claim | undefined> => {
  const row = await firstRow<TakenRow>(tx, takeStatement(task, request, slot))
  const claim = row === undefined ? undefined : readClaim(row, task)
  if (claim === undefined && row?.held === true) await tx.query(sql`delete from area_hold where task_id = ${task.id}`)
  return claim
}

/**
 * Claims the first task in the queue that an idle agent can run; undefined = there is none. Task, run and lease change in
 * the caller's transaction. Reads one partial index, so the cost does not grow with the tasks that have ended.
 */
export const claimTask = async (tx: Queryable, request: ClaimRequest): Promise<Claim | undefined> => {
  for (const closed: Closed = { tasks: [], lanes: [] }; ;) {
    const task = await candidateFor(tx, request, closed)
    if (task === undefined) return undefined
    const limits = request.lanes ?? defaultLanes
    const slot = task.lane === 'feature' ? 0 : laneSlot(task.lane, limits, await countLane(tx, task.lane, request))
    const claim = slot === undefined ? undefined : await take(tx, task, request, slot)
    if (claim !== undefined) return claim
    if (slot === undefined) closed.lanes.push(task.lane)
    else closed.tasks.push(task.id)
  }
}
