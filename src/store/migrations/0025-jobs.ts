/**
 * When each periodic job of the leader is due, so that a restart or another leader continues where the last one stopped; the switch of
 * the judge; and anomalies that last. A run that ended is found by its time, because anomalies are about the last minutes.
 */
export const migration = `
create table job (
  name text primary key,
  due_at timestamptz not null,
  last_at timestamptz,
  engine_id text
);
create table hatch (
  id boolean primary key default true check (id),
  state text not null default 'idle' check (state in ('idle', 'armed', 'off')),
  changed_by text not null default '',
  changed_at timestamptz not null default unstuck_now()
);
insert into hatch default values;
create table anomaly (
  type text primary key,
  detail text not null,
  since timestamptz not null,
  cleared_at timestamptz,
  reported_at timestamptz not null
);
create index run_ended on run (ended_at) where ended_at is not null;
`
