/** What a person wrote to an agent at work, until the agent is started with it. */
export const migration = `
alter table run add column message jsonb;
`
