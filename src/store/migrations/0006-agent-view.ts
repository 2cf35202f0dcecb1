/**
 * The state of an agent follows from its lease, its slot and its engine, and is no longer stored: a column could
 * disagree with them, and each change of one of them had to write it. The row of a slot that is no longer configured
 * stays, with the time it went: runs refer to it, and it is shown as offline.
 *
 * Agents that were offline count as gone: either the slot is, or the engine is offline and clears the mark when it
 * registers again. The first statement locks the table, so that no claim comes between the statements.
 */
export const migration = `
alter table agent add column gone_at timestamptz;
update agent set gone_at = unstuck_now() where state = 'offline';
alter table agent drop column state;

create view agent_view as
select agent.id, agent.role, agent.host, agent.engine_id, agent.heartbeat_at,
  case
    when exists (select 1 from lease where lease.agent_id = agent.id) then 'busy'
    when agent.gone_at is not null or engine.state = 'offline' then 'offline'
    else 'idle'
  end as state
from agent left join engine on engine.id = agent.engine_id;
`
