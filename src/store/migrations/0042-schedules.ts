/** Goals that begin at times of a cron expression. */
export const migration = `
create table schedule (
  id text primary key,
  cron text not null,
  time_zone text not null,
  title text not null,
  file text,
  request jsonb not null,
  next_at timestamptz not null,
  last_at timestamptz,
  goal_id text references goal (id),
  problem text not null default '',
  added_by text not null,
  created_at timestamptz not null default unstuck_now()
);
create index schedule_next on schedule (next_at);
`
