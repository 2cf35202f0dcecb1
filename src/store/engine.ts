/** All statements on engines. Only `registerEngine` and `moveEngine` write their states; a heartbeat does not. */
import { engineFlow, type EngineInfo, type EngineState } from '../domain/engine.ts'
import { mustTransition, transitionOf } from '../domain/flow.ts'
import { idleAgents, registerAgents, recordOffline } from './agent.ts'
import { fromRow, json, firstRow, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/** The name of its connections is used by the reaper only. */
const read = (row: object): EngineInfo => {
  const { session: _session, ...engine } = fromRow<EngineInfo & { session: string }>(row)
  return engine
}

export type NewEngine = Pick<
  EngineInfo,
  'id' | 'host' | 'bootId' | 'pid' | 'startTime' | 'roles' | 'harnesses' | 'labels' | 'ttlSeconds'
>

export const listEngines = async (db: Queryable): Promise<EngineInfo[]> =>
  (await db.query<object>(sql`select * from engine order by started_at, id`)).map(read)

export const getEngine = async (db: Queryable, id: string): Promise<EngineInfo | undefined> => {
  const row = await firstRow<object>(db, sql`select * from engine where id = ${id}`)
  return row === undefined ? undefined : read(row)
}

/** Puts an engine and its agents into service, at its start or after it was declared dead. */
export const registerEngine = async (tx: Queryable, engine: NewEngine, agentIds: string[]): Promise<void> => {
  const before = (await getEngine(tx, engine.id))?.state ?? ''
  const step = mustTransition(engineFlow, before, 'started')
  const { id, host, bootId, pid, startTime } = engine
  const lists = { roles: json(engine.roles), harnesses: json(engine.harnesses), labels: json(engine.labels) }
  await tx.query(sql`
    insert into engine (id, host, boot_id, pid, start_time, roles, state, harnesses, labels, ttl_seconds, session)
    values (${id}, ${host}, ${bootId}, ${pid}, ${startTime}, ${lists.roles}::jsonb, ${step.to}, ${lists.harnesses}::jsonb, ${lists.labels}::jsonb, ${engine.ttlSeconds}::float8,
      current_setting('application_name'))
    on conflict (id) do update set host = excluded.host, boot_id = excluded.boot_id, pid = excluded.pid, start_time = excluded.start_time,
      roles = excluded.roles, state = excluded.state, harnesses = excluded.harnesses, labels = excluded.labels, waiting = null, ttl_seconds = excluded.ttl_seconds, session = excluded.session,
      started_at = unstuck_now(), heartbeat_at = unstuck_now()`)
  await appendEvent(tx, {
    type: 'engine.registered',
    payload: { engine: id, host, roles: engine.roles, harnesses: engine.harnesses, before },
  })
  await registerAgents(tx, agentIds, host, id)
}

/**
 * Stores a heartbeat, with facts that may have changed. Returns the state that other engines see; undefined = there is
 * no such engine.
 */
export const recordHeartbeat = async (
  db: Queryable,
  id: string,
  now: { harnesses: string[]; waiting: string | null },
): Promise<EngineState | undefined> => {
  const row = await firstRow<{ state: EngineState }>(
    db,
    sql`with beaten as (update agent set heartbeat_at = unstuck_now()
      where id in (select id from agent_view where engine_id = ${id} and state <> 'offline'))
    update engine set heartbeat_at = unstuck_now(), harnesses = ${json(now.harnesses)}::jsonb, waiting = ${now.waiting}
    where id = ${id} returning state`,
  )
  return row?.state
}

/**
 * Moves an engine along its flow table. When it goes offline, its idle agents do too; a busy agent does when its lease
 * ends.
 */
export const moveEngine = async (
  tx: Queryable,
  engine: EngineInfo,
  trigger: 'drained' | 'left' | 'died',
  payload: Record<string, unknown> = {},
): Promise<MoveResult<EngineInfo>> => {
  const step = transitionOf(engineFlow, engine.state, trigger)
  if (!step.ok) return step
  const leaving = step.row.to === 'offline' ? await idleAgents(tx, engine.id) : []
  // The heartbeat is the fence: an engine that sent one after it was judged is alive. A Date has no microseconds,
  // but the store has, hence the millisecond.
  const row = await firstRow<object>(
    tx,
    sql`update engine set state = ${step.row.to}, waiting = null
    where id = ${engine.id} and state = ${engine.state} and (${trigger} <> 'died' or heartbeat_at < ${engine.heartbeatAt}::timestamptz + interval '1 millisecond') returning *`,
  )
  if (row === undefined) return stale(`engine ${engine.id}`)
  await appendEvent(tx, {
    type: step.row.event,
    payload: { engine: engine.id, host: engine.host, trigger, ...payload },
  })
  await recordOffline(tx, leaving, engine.id, 'its engine is offline')
  return { ok: true, value: read(row) }
}
