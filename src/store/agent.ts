/**
 * All statements on agents, the executor slots of the engines. A statement that had to wait for a row looks at that row
 * again, but at other tables as they were before: what a change depends on elsewhere is therefore locked by a statement before it.
 */
import type { Agent } from '../domain/agent.ts'
import { fromRow, json, one, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/**
 * Registers an engine's slots. A slot that still holds a lease stays busy: its run is re-attached, not forgotten. Slots of
 * an earlier, larger configuration of this engine go offline unless they hold a lease; other engines' are left alone.
 */
export const registerAgents = async (
  tx: Queryable,
  ids: string[],
  host: string,
  engineId: string | null = null,
): Promise<void> => {
  // A claim of this engine that is under way holds its agent: without its lease in sight the agent would count as idle.
  await tx.query(sql`select id from agent where engine_id is not distinct from ${engineId} order by id for update`)
  for (const id of ids) {
    await tx.query(sql`
      insert into agent (id, role, host, engine_id, state) values (${id}, 'worker', ${host}, ${engineId}, 'idle')
      on conflict (id) do update set host = ${host}, engine_id = ${engineId}, heartbeat_at = unstuck_now(),
        state = case when exists (select 1 from lease where agent_id = agent.id) then 'busy' else 'idle' end`)
  }
  await tx.query(
    sql`update agent set state = 'offline' where not (${json(ids)}::jsonb ? id) and engine_id is not distinct from ${engineId}
      and not exists (select 1 from lease where agent_id = agent.id)`,
  )
  await appendEvent(tx, { type: 'agent.registered', payload: { agents: ids, host, engine: engineId } })
}

export const listAgents = async (db: Queryable): Promise<Agent[]> =>
  (await db.query<object>(sql`select * from agent order by id`)).map((row) => fromRow<Agent>(row))

/** The agents of an engine that may claim. */
export const idleAgents = async (db: Queryable, engineId: string): Promise<string[]> =>
  (
    await db.query<{ id: string }>(
      sql`select id from agent where engine_id = ${engineId} and state = 'idle' order by length(id), id`,
    )
  ).map(({ id }) => id)

/** Takes idle agents of an engine that is offline out of service. */
export const retireAgents = async (tx: Queryable, engineId: string): Promise<void> => {
  // It may be registering again at this moment; agents that go offline after that would never be called back.
  const gone = await one(tx, sql`select id from engine where id = ${engineId} and state = 'offline' for update`)
  if (gone === undefined) return
  const rows = await tx.query<{ id: string }>(
    sql`update agent set state = 'offline' where engine_id = ${engineId} and state = 'idle' returning id`,
  )
  if (rows.length > 0)
    await appendEvent(tx, {
      type: 'agent.offline',
      payload: { agents: rows.map(({ id }) => id), engine: engineId, evidence: 'its engine is offline' },
    })
}

/** Gives an agent back that is busy and holds no lease. */
export const freeAgent = async (tx: Queryable, id: string): Promise<void> => {
  await tx.query(sql`select id from agent where id = ${id} for update`)
  const rows = await tx.query(
    sql`update agent set state = 'idle' where id = ${id} and state = 'busy'
      and not exists (select 1 from lease where agent_id = agent.id) returning id`,
  )
  if (rows.length > 0)
    await appendEvent(tx, {
      type: 'lease.dangling',
      payload: { agent: id, evidence: 'the agent was busy and held no lease' },
    })
}
