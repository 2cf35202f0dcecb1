/**
 * All statements on agents, the executor slots of the engines. Their states are read from the view `agent_view`, which
 * derives them; no statement writes a state.
 */
import type { Agent } from '../domain/agent.ts'
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/**
 * Registers an engine's slots. Slots of an earlier, larger configuration of this engine are marked as gone; a run that
 * still holds one is re-attached and ends there. Slots of other engines stay unchanged.
 */
export const registerAgents = async (
  tx: Queryable,
  ids: string[],
  host: string,
  engineId: string | null = null,
): Promise<void> => {
  await tx.query(
    sql`update agent set gone_at = unstuck_now() where gone_at is null and not (${json(ids)}::jsonb ? id)
      and engine_id is not distinct from ${engineId}`,
  )
  for (const id of ids) {
    await tx.query(sql`
      insert into agent (id, role, host, engine_id) values (${id}, 'worker', ${host}, ${engineId})
      on conflict (id) do update set host = ${host}, engine_id = ${engineId}, heartbeat_at = unstuck_now(), gone_at = null`)
  }
  await appendEvent(tx, { type: 'agent.registered', payload: { agents: ids, host, engine: engineId } })
}

export const listAgents = async (db: Queryable): Promise<Agent[]> =>
  (await db.query<object>(sql`select * from agent_view order by id`)).map((row) => fromRow<Agent>(row))

/** The agents of an engine that may claim a task. */
export const idleAgents = async (db: Queryable, engineId: string): Promise<string[]> =>
  (
    await db.query<{ id: string }>(
      sql`select id from agent_view where engine_id = ${engineId} and state = 'idle' order by length(id), id`,
    )
  ).map(({ id }) => id)

/** Records that agents went out of service. */
export const recordOffline = async (
  tx: Queryable,
  agents: string[],
  engine: string | null,
  evidence: string,
): Promise<void> => {
  if (agents.length > 0) await appendEvent(tx, { type: 'agent.offline', payload: { agents, engine, evidence } })
}

/** For an agent whose lease was removed in this transaction: records that it is offline if only the lease kept it in service. */
export const releaseAgent = async (tx: Queryable, id: string): Promise<void> => {
  const row = await firstRow<{ engine_id: string | null; gone: boolean }>(
    tx,
    sql`select agent.engine_id, agent.gone_at is not null as gone from agent join agent_view as derived on derived.id = agent.id
    where agent.id = ${id} and derived.state = 'offline'`,
  )
  if (row !== undefined)
    await recordOffline(tx, [id], row.engine_id, row.gone ? 'its slot is gone' : 'its engine is offline')
}
