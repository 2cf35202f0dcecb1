/** The first schema. States are text with a CHECK; a test compares each CHECK with its flow table. */
export const migration = `
create function unstuck_now() returns timestamptz language sql stable as $$
  select coalesce(nullif(current_setting('unstuck.now', true), '')::timestamptz, clock_timestamp())
$$;

create table goal (
  id text primary key,
  title text not null,
  requirement text not null,
  state text not null check (state in ('planning', 'active', 'paused', 'awaiting_human', 'ready', 'done', 'failed', 'cancelled')),
  repo_mode text not null check (repo_mode in ('local', 'direct')),
  target_branch text,
  base_commit text,
  head_commit text,
  auto_merge boolean not null,
  allowed_dirs jsonb not null,
  limits jsonb not null,
  spend jsonb not null,
  reason text not null default '',
  version integer not null default 1,
  created_at timestamptz not null default unstuck_now(),
  changed_at timestamptz not null default unstuck_now(),
  ended_at timestamptz
);

create table task (
  id text primary key,
  goal_id text not null references goal (id),
  number integer not null,
  title text not null,
  instructions text not null,
  role text not null check (role in ('planner', 'worker', 'tester', 'docser', 'judge')),
  allowed_paths jsonb not null,
  denied_paths jsonb not null,
  commands jsonb not null,
  original_commands jsonb not null,
  command_source text not null check (command_source in ('task', 'config', 'inferred')),
  depends_on jsonb not null,
  target_area text,
  harness text not null,
  model text,
  priority integer not null,
  state text not null check (state in ('queued', 'running', 'done', 'failed', 'blocked', 'cancelled')),
  block_reason text check (block_reason in ('awaiting_judge', 'quota_wait', 'needs_rework', 'issue_linking', 'awaiting_human', 'needs_human')),
  retry jsonb,
  retry_at timestamptz,
  ready boolean not null default false,
  epoch integer not null default 0,
  count_from timestamptz not null default unstuck_now(),
  version integer not null default 1,
  created_at timestamptz not null default unstuck_now(),
  changed_at timestamptz not null default unstuck_now(),
  unique (goal_id, number),
  check ((state = 'blocked') = (block_reason is not null))
);
create index task_claimable on task (priority desc, created_at, id) where state = 'queued' and ready;
create index task_retry on task (retry_at) where state = 'failed';

create table agent (
  id text primary key,
  role text not null,
  host text not null,
  state text not null check (state in ('idle', 'busy', 'offline')),
  heartbeat_at timestamptz not null default unstuck_now()
);

create table run (
  id text primary key,
  task_id text not null references task (id),
  goal_id text not null references goal (id),
  number integer not null,
  epoch integer not null,
  agent_id text not null,
  harness text not null,
  state text not null check (state in ('running', 'success', 'failed', 'cancelled')),
  phase text not null check (phase in ('prepare', 'launch', 'supervise', 'collect', 'verify', 'policy', 'commit', 'finish')),
  base_commit text,
  launches jsonb not null,
  session_id text,
  spend jsonb not null,
  tree text,
  commit text,
  verdict jsonb,
  error_meta jsonb,
  judged_at timestamptz,
  judgement_version integer not null default 0,
  version integer not null default 1,
  started_at timestamptz not null default unstuck_now(),
  ended_at timestamptz,
  unique (task_id, number)
);
create unique index run_one_running_per_task on run (task_id) where state = 'running';

create table lease (
  task_id text primary key references task (id),
  run_id text not null references run (id),
  agent_id text not null references agent (id),
  epoch integer not null,
  expires_at timestamptz not null,
  unique (agent_id)
);

create table merge_entry (
  id text primary key,
  number integer generated always as identity,
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text not null unique references run (id),
  commit text not null,
  state text not null check (state in ('pending', 'processing', 'merged', 'failed', 'cancelled')),
  attempts integer not null default 0,
  landed_commit text,
  detail text not null default '',
  version integer not null default 1,
  created_at timestamptz not null default unstuck_now(),
  changed_at timestamptz not null default unstuck_now()
);
create unique index merge_one_processor_per_goal on merge_entry (goal_id) where state = 'processing';

create table recovery (
  id text primary key,
  goal_id text not null references goal (id),
  task_id text not null references task (id),
  run_id text not null references run (id),
  worker text not null,
  playbook text not null,
  rung integer not null,
  scope text not null check (scope in ('launch', 'run', 'task', 'goal')),
  label text not null,
  signature text not null,
  issue_detected text not null,
  action jsonb not null,
  action_key text not null,
  post_condition jsonb not null,
  status text not null check (status in ('acting', 'success', 'failed')),
  counted boolean not null,
  attempt integer not null,
  detail text not null default '',
  started_at timestamptz not null default unstuck_now(),
  decided_at timestamptz
);
create index recovery_of_task on recovery (task_id, started_at);

create table escalation (
  id text primary key,
  goal_id text not null references goal (id),
  task_id text references task (id),
  run_id text references run (id),
  kind text not null check (kind in ('blocker', 'exhausted', 'budget', 'merge_conflict', 'no_playbook')),
  question text not null,
  details text not null,
  choices jsonb not null,
  state text not null check (state in ('pending', 'approved', 'rejected', 'resolved', 'expired')),
  answer text,
  version integer not null default 1,
  created_at timestamptz not null default unstuck_now(),
  decided_at timestamptz
);
create unique index escalation_one_pending_per_task on escalation (task_id) where state = 'pending';

create table event (
  id bigint generated always as identity primary key,
  at timestamptz not null default unstuck_now(),
  type text not null,
  goal_id text,
  task_id text,
  run_id text,
  payload jsonb not null
);
create index event_of_goal on event (goal_id, id);
create index event_of_task on event (task_id, id);
`
