/** A task on which a person works in a folder, until the work is given back and collected. */
export const migration = `
alter table task add column taken_over jsonb;
`
