/** Tasks that are worked on in iterations, and where a run of such a task is. */
export const migration = `
alter table task add column kind text not null default 'code';
alter table run add column loop jsonb;
`
