/** What failed or passed on a machine in the last day is read before each launch, however many runs have ended before. */
export const migration = `
create index recovery_by_time on recovery (started_at);
`
