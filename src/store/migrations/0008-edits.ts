/**
 * A person's hint for the next attempts of a task, and an edit that waits until the current attempt ends, so that the
 * attempt keeps what it started with.
 */
export const migration = `
alter table task add column hint text;
alter table task add column pending_edit jsonb;
`
