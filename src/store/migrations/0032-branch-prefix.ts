/** What the name of a goal's branch begins with, because the setting may change while the goal goes on. */
export const migration = `
alter table goal add column branch_prefix text not null default 'unstuck/';
`
