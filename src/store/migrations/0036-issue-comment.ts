/** The comment of a goal under its issue. */
export const migration = `
alter table forge_link add column comment bigint;
alter table forge_link add column comment_text text;
`
