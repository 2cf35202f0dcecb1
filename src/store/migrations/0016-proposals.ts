/**
 * Recovery proposals of agents and the commands that ran because of them: the intent before, the outcome after. The limits are counts
 * of executions, so that they survive a restart. A proposal is consumed once, by the digest of its bytes.
 */
export const migration = `
alter table escalation drop constraint escalation_kind_check;
alter table escalation add constraint escalation_kind_check check (kind in ('blocker', 'exhausted', 'budget', 'merge_conflict', 'no_playbook',
  'recovery_approval_required', 'recovery_failed', 'recovery_unknown_outcome', 'invalid_proposal'));

create table recovery_proposal (
  id text primary key,
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text not null references run (id),
  iteration integer not null,
  digest text not null,
  source text not null check (source in ('agent', 'diagnosis', 'person')),
  body jsonb,
  offset_stated text,
  problem jsonb,
  flag jsonb,
  failing jsonb not null,
  state text not null check (state in ('open', 'asked', 'approved', 'succeeded', 'rejected', 'resolved', 'denied')),
  approved_step text,
  decided_by text,
  note text not null default '',
  created_at timestamptz not null default unstuck_now(),
  decided_at timestamptz
);
create unique index recovery_proposal_once on recovery_proposal (task_id, digest);
create index recovery_proposal_of_goal on recovery_proposal (goal_id, created_at);

create table recovery_execution (
  id text primary key,
  proposal_id text not null references recovery_proposal (id),
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text not null references run (id),
  step text not null check (step in ('primary', 'fallback')),
  command text not null,
  working_dir text not null,
  timeout_seconds integer not null,
  approved_by text not null,
  counted boolean not null,
  repetition boolean not null,
  state text not null check (state in ('started', 'succeeded', 'failed', 'unknown')),
  effect boolean,
  exit_code integer,
  duration_ms integer,
  error text not null default '',
  changed jsonb not null default '[]',
  started_at timestamptz not null default unstuck_now(),
  ended_at timestamptz
);
create index recovery_execution_of_goal on recovery_execution (goal_id, started_at);
`
