/** What was done about a check or a review of a pull request. */
export const migration = `
create table forge_feedback (
  goal_id text not null references goal (id),
  key text not null,
  head text not null,
  action text not null check (action in ('run_again', 'task')),
  task_id text references task (id),
  points jsonb not null default '[]',
  comments jsonb not null default '[]',
  replied boolean not null default false,
  created_at timestamptz not null default unstuck_now(),
  primary key (goal_id, key, head, action)
);
`
