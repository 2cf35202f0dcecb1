/**
 * How far the exports of a goal in the owner's checkout have come. Goals that ended before this version get none: their cursor is at their
 * last event.
 */
export const migration = `
create table goal_export (
  goal_id text primary key references goal (id),
  event_id bigint not null,
  events_digest text not null,
  usage_digest text not null
);

insert into goal_export (goal_id, event_id, events_digest, usage_digest)
select goal.id, max(event.id), '', '' from goal join event on event.goal_id = goal.id
where goal.state in ('done', 'failed', 'cancelled') group by goal.id;
`
