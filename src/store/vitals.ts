/**
 * What the reaper reads: all rows that are inconsistent or overdue by the store's clock. Reads only; runtime/engine
 * decides from these signals what is dead.
 */
import type { EngineState } from '../domain/engine.ts'
import type { ProcessIdentity } from '../platform/process.ts'
import { fromRow, firstRow, isThere, sql, type Queryable } from './db.ts'

/** The engine behind an agent; null fields = there is none (any more). */
export interface EngineVitals {
  engineId: string | null
  engineState: EngineState | null
  /** Seconds since its last heartbeat, and for how many seconds a heartbeat counts. */
  silent: number | null
  ttlSeconds: number | null
  engine: ProcessIdentity | null
}

export interface LeaseVitals extends EngineVitals {
  taskId: string
  runId: string
  agentId: string
  epoch: number
  /** Seconds since the lease expired; negative = it is still valid. */
  expired: number
  /** Whether its run and its task are running. */
  used: boolean
  /** The shim of the run's newest launch. */
  shim: ProcessIdentity | null
}

export interface Vitals {
  /** Leases that have expired, or whose run or task is not running. */
  leases: LeaseVitals[]
  /** Running runs that have had no lease for longer than a renewal takes. */
  unleased: (EngineVitals & { runId: string; taskId: string; seconds: number })[]
  /** Running tasks that have had no running run for as long. */
  orphans: { taskId: string; seconds: number }[]
  /** Engines in service without a heartbeat for longer than the life of a lease. */
  engines: (EngineVitals & {
    engineId: string
    leases: number
    expiredLeases: number
    /** The server saw no activity on its connections for as long, or has no connection of it. */
    mute: boolean
  })[]
}

const engineColumns = `agent.engine_id, engine.state as engine_state, extract(epoch from unstuck_now() - engine.heartbeat_at)::float8 as silent, engine.ttl_seconds,
  case when engine.id is null then null else jsonb_build_object('host', engine.host, 'bootId', engine.boot_id, 'pid', engine.pid, 'startTime', engine.start_time) end as engine`

interface List {
  columns: string
  /** What decides whether a row is one. `$1` = the seconds that a renewal takes. */
  from: string
  where: string
  /** Joins that bring more columns and no other rows. */
  more?: string
  order: string
}

const lists: Record<keyof Vitals, List> = {
  leases: {
    columns: `lease.task_id, lease.run_id, lease.agent_id, lease.epoch, extract(epoch from unstuck_now() - lease.expires_at)::float8 as expired,
      run.state = 'running' and task.state = 'running' as used, run.launches -> -1 -> 'shim' as shim, ${engineColumns}`,
    from: 'lease join run on run.id = lease.run_id join task on task.id = lease.task_id',
    more: 'join agent on agent.id = lease.agent_id left join engine on engine.id = agent.engine_id',
    where: `lease.expires_at < unstuck_now() or run.state <> 'running' or task.state <> 'running'`,
    order: 'lease.task_id',
  },
  unleased: {
    columns: `run.id as run_id, run.task_id, extract(epoch from unstuck_now() - run.started_at)::float8 as seconds, ${engineColumns}`,
    from: 'run',
    more: 'left join agent on agent.id = run.agent_id left join engine on engine.id = agent.engine_id',
    where: `run.state = 'running' and not exists (select 1 from lease where lease.run_id = run.id)
      and run.started_at < unstuck_now() - make_interval(secs => $1::float8)`,
    order: 'run.id',
  },
  orphans: {
    columns: 'task.id as task_id, extract(epoch from unstuck_now() - task.changed_at)::float8 as seconds',
    from: 'task',
    where: `state = 'running' and not exists (select 1 from run where run.task_id = task.id and run.state = 'running')
      and changed_at < unstuck_now() - make_interval(secs => $1::float8)`,
    order: 'task.id',
  },
  engines: {
    columns: `${engineColumns.replaceAll('agent.engine_id', 'engine.id as engine_id')},
      (select count(*)::int from lease join agent on agent.id = lease.agent_id where agent.engine_id = engine.id) as leases,
      (select count(*)::int from lease join agent on agent.id = lease.agent_id where agent.engine_id = engine.id and lease.expires_at < unstuck_now()) as expired_leases,
      not exists (select 1 from pg_stat_activity a where a.application_name = engine.session
        and a.state_change > clock_timestamp() - make_interval(secs => engine.ttl_seconds)) as mute`,
    from: 'engine',
    where: `state <> 'offline' and heartbeat_at < unstuck_now() - make_interval(secs => ttl_seconds)`,
    order: 'id',
  },
}

/** Whether any of them is there. */
export const signs = Object.values(lists)
  .map(({ from, where }) => isThere(from, where))
  .join(' or ')

const vitals = `select ${Object.entries(lists)
  .map(([name, { columns, from, more = '', where, order }]) => {
    const found = `select ${columns} from ${from} ${more} where ${where} order by ${order}`
    return `(select coalesce(jsonb_agg(found), '[]') from (${found}) as found) as ${name}`
  })
  .join(', ')}`

/**
 * `renewSeconds`: an inconsistency that lasts longer than this is not a transaction in progress. One statement, so that all of it is of the
 * same moment.
 */
export const readVitals = async (db: Queryable, renewSeconds: number): Promise<Vitals> => {
  const row = await firstRow<Record<keyof Vitals, object[]>>(db, { text: vitals, values: [renewSeconds] })
  const read = <T>(found: object[] = []): T[] => found.map((one) => fromRow<T>(one))
  return {
    leases: read(row?.leases),
    unleased: read(row?.unleased),
    orphans: read(row?.orphans),
    engines: read(row?.engines),
  }
}

export interface Breaches {
  /** Tasks with two running runs. */
  doubleRuns: number
  /** Leases whose run is not running. */
  dangling: number
  /** Running runs without a lease. */
  unleased: number
}

/**
 * How many rows violate an invariant at this moment; shown by the doctor. One statement, so that all numbers are of
 * the same moment.
 */
export const countBreaches = async (db: Queryable): Promise<Breaches> => {
  const row = await firstRow<object>(
    db,
    sql`select
      (select count(*)::int from (select task_id from run where state = 'running' group by task_id having count(*) > 1) as doubled) as double_runs,
      (select count(*)::int from lease join run on run.id = lease.run_id where run.state <> 'running') as dangling,
      (select count(*)::int from run where state = 'running' and not exists (select 1 from lease where lease.run_id = run.id)) as unleased`,
  )
  return fromRow<Breaches>(row ?? {})
}
