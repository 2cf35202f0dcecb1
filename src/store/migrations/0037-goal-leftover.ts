/**
 * Ended goals of which a branch or a run's tree is still there. A row is made with the end of its goal, so that a kill forgets none.
 * Goals that ended before have no row: `unstuck clean` looks after them.
 */
export const migration = `
create table goal_leftover (
  goal_id text primary key references goal (id),
  due_at timestamptz not null
);
create index goal_leftover_due on goal_leftover (due_at);
`
