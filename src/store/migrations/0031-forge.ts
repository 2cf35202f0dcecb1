/** What links a goal to the forge: the issue that it came from, and the pull request that carries its work. */
export const migration = `
create table forge_link (
  goal_id text primary key references goal (id),
  issue integer unique,
  issue_url text,
  pull_request integer unique,
  pull_request_url text,
  pushed_head text,
  pull_request_state text not null default 'none' check (pull_request_state in ('none', 'open', 'merged', 'closed')),
  created_at timestamptz not null default unstuck_now()
);
`
