/** What a person should know about a proposal and what bars nothing: fields that were ignored, evidence that does not exist. */
export const migration = `
alter table recovery_proposal add column notes jsonb not null default '[]';
`
