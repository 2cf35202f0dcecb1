/**
 * Engines and their agents, lanes, areas and the order of the queue. An area is a range of text: `src/api` covers
 * everything from `src/api/` up to, but not including, `src/api0` (the character after the slash), so two ranges
 * overlap exactly if one area is, or lies in, the other. A lease carries the areas, and the database refuses two
 * leases that overlap.
 */
export const migration = `
create type area_range as range (subtype = text, collation = "C");

create function area_spans(areas jsonb) returns area_multirange language sql immutable as $$
  select range_agg(area_range(area || '/', area || '0')) from jsonb_array_elements_text(areas) as named (area)
$$;

create table engine (
  id text primary key,
  host text not null,
  boot_id text not null,
  pid integer not null,
  start_time text not null,
  roles jsonb not null,
  state text not null check (state in ('online', 'draining', 'offline')),
  harnesses jsonb not null,
  labels jsonb not null,
  waiting text,
  ttl_seconds float8 not null,
  session text not null default '',
  started_at timestamptz not null default unstuck_now(),
  heartbeat_at timestamptz not null default unstuck_now()
);

create table leader (
  name text primary key check (name = 'leader'),
  engine_id text,
  term integer not null default 0,
  since timestamptz not null default unstuck_now()
);
insert into leader (name) values ('leader');

alter table agent add column engine_id text references engine (id);
create index agent_of_engine on agent (engine_id);

alter table task
  add column lane text not null default 'feature' check (lane in ('feature', 'conflict_recovery', 'docser')),
  add column areas jsonb not null default '[]',
  add column span area_multirange,
  add column rank float8 not null default 0,
  add column engine_id text references engine (id);
update task set rank = extract(epoch from created_at) - least(greatest(priority, -1000), 1000) * 600;
update task set areas = jsonb_build_array(target_area), span = area_spans(jsonb_build_array(target_area)) where target_area is not null;
drop index task_claimable;
create index task_claimable on task (rank, id) where state = 'queued' and ready;
create index task_running on task (id) where state = 'running';

alter table run add column stop_asked text check (stop_asked in ('cancelled'));
create index run_running on run (agent_id) where state = 'running';

alter table lease
  add column lane text not null default 'feature',
  add column lane_slot integer,
  add column span area_multirange,
  alter constraint lease_run_id_fkey deferrable initially deferred,
  add constraint lease_lane_slot_key unique (lane, lane_slot),
  add constraint lease_span_excl exclude using gist (span with &&);
update lease set span = task.span from task where task.id = lease.task_id;
`
