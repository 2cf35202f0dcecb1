/** A task that a person works on in a folder, until the work is given back and collected. */
export const migration = `
alter table task add column taken_over jsonb;
`
