/**
 * Tasks that review work which exists already, and tasks that wait for a link. `watched_at`: when the cycle manager last found that a
 * task which waits for the judge has a next step; one that lost it is found when this is too long ago. One index now finds every task
 * whose wait is over, whatever it waits for.
 */
export const migration = `
alter table task add column review jsonb;
alter table task add column link jsonb;
alter table task add column watched_at timestamptz;
alter table run add column reviewed text;
update task set watched_at = changed_at where block_reason in ('awaiting_judge', 'needs_human');
create index task_watched on task (watched_at) where watched_at is not null;
create index task_reviewing on task (id) where review is not null and state <> 'done' and state <> 'cancelled';
drop index task_retry;
drop index task_rework_due;
create index task_due on task (retry_at) where retry_at is not null;
`
