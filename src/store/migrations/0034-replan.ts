/** Tasks that look for what the tasks of a planned goal have left out. */
export const migration = `
alter table task drop constraint task_plan_check;
alter table task add constraint task_plan_check check (plan in ('run', 'review', 'only', 'replan'));
`
