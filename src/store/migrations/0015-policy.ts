/**
 * Policy recovery and rework: what a task may read and replaces, the paths that were granted or learned, and one row per
 * requeue, because the limits are counts of rows and must survive a restart.
 */
export const migration = `
alter table task add column context_files jsonb not null default '[]';
alter table task add column rework jsonb;
alter table task add column superseded_by text references task (id);
create index task_rework_due on task (retry_at) where block_reason = 'needs_rework';

create table requeue (
  id text primary key,
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text references run (id),
  epoch integer not null,
  reason text not null,
  cause text not null,
  signature text not null,
  payload jsonb not null,
  at timestamptz not null default unstuck_now()
);
create index requeue_of_task on requeue (task_id, at);

create table path_grant (
  id text primary key,
  path text not null,
  scope text not null check (scope in ('run', 'task', 'area')),
  areas jsonb not null default '[]',
  role text,
  goal_id text references goal (id),
  task_id text references task (id),
  run_id text references run (id),
  rule text not null,
  why text not null,
  granted_by text not null,
  source_text text not null default '',
  granted_at timestamptz not null default unstuck_now(),
  last_used_at timestamptz not null default unstuck_now(),
  revoked_at timestamptz,
  revoked_by text
);
create index path_grant_live on path_grant (last_used_at) where revoked_at is null;

create table path_grant_use (
  grant_id text not null references path_grant (id),
  run_id text not null references run (id),
  at timestamptz not null default unstuck_now(),
  primary key (grant_id, run_id)
);
create index path_grant_use_of_run on path_grant_use (run_id);

create table learned_path (
  path text primary key,
  evidence jsonb not null,
  task_id text references task (id),
  run_id text references run (id),
  seen integer not null default 1,
  learned_at timestamptz not null default unstuck_now(),
  last_seen_at timestamptz not null default unstuck_now(),
  undone_at timestamptz,
  undone_by text,
  expired boolean not null default false
);
create index learned_path_live on learned_path (last_seen_at) where undone_at is null;
`
