/**
 * What agents used, whatever they used it for: every sum reads this view, so none forgets the reviews. A review counts when its reviewer
 * last ended, not when the judgement changes later.
 */
export const migration = `
alter table judgement add column spent_at timestamptz;
update judgement set spent_at = coalesce(decided_at, changed_at) where (spend ->> 'seconds')::float8 > 0;
create index judgement_spent on judgement (spent_at) where spent_at is not null;

create view spent_view as
  select 'work' as purpose, goal_id, harness, spend, coalesce(ended_at, started_at) as at from run
  union all
  select 'review', goal_id, harness, spend, spent_at from judgement where spent_at is not null;
`
