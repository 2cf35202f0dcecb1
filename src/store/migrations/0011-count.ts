/**
 * Where a task's present count of recoveries begins, by its runs and not by the clock: after the clock was set back, what had
 * been tried lay before the time of the count, and every budget began anew with each look.
 */
export const migration = `
alter table task add column count_from_epoch integer not null default 0;
update task set count_from_epoch =
  coalesce((select max(run.epoch) from run where run.task_id = task.id and run.started_at < task.count_from), 0);
`
