/**
 * The run from which a task's recoveries count, instead of a time: after the clock was set back, earlier attempts lay
 * before the stored time, and every budget started again and again.
 */
export const migration = `
alter table task add column count_from_epoch integer not null default 0;
update task set count_from_epoch =
  coalesce((select max(run.epoch) from run where run.task_id = task.id and run.started_at < task.count_from), 0);
`
