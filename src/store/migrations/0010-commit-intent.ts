/** Author and time of the commit that a run is about to make. */
export const migration = `
alter table run add column commit_intent jsonb;
`
