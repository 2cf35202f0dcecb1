/** How strictly work is judged, and the judgements: one for each head commit of a task. */
export const migration = `
alter table goal add column judge text check (judge in ('auto', 'llm', 'human'));
alter table task add column judge text check (judge in ('auto', 'llm', 'human'));

create table judgement (
  id text primary key,
  number integer generated always as identity,
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text not null unique references run (id),
  commit text,
  version integer not null,
  mode text not null check (mode in ('auto', 'llm', 'human')),
  state text not null check (state in ('claimed', 'waiting', 'asked', 'decided', 'withdrawn')),
  engine_id text,
  expires_at timestamptz,
  retry_at timestamptz,
  failures integer not null default 0,
  verdict text check (verdict in ('approve', 'request_changes')),
  reason text not null default '',
  risk text check (risk in ('low', 'medium', 'high')),
  points jsonb not null default '[]',
  summary text not null default '',
  harness text,
  model text,
  decided_by text,
  spend jsonb not null default '{"tokens": 0, "costUsd": 0, "seconds": 0}',
  created_at timestamptz not null default unstuck_now(),
  changed_at timestamptz not null default unstuck_now(),
  decided_at timestamptz,
  unique (task_id, commit),
  check ((state = 'decided') = (verdict is not null and decided_at is not null))
);
create index judgement_open on judgement (task_id) where state in ('claimed', 'waiting', 'asked');
create index judgement_of_goal on judgement (goal_id, number);
`
