/**
 * What a person told a task: the hint for its next attempts, and an edit that waits for the attempt that is under way to
 * end, so that the attempt keeps what it began with.
 */
export const migration = `
alter table task add column hint text;
alter table task add column pending_edit jsonb;
`
