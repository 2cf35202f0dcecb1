/** Tasks that divide their goal into others; `plan`: what follows the division. */
export const migration = `
alter table task add column plan text check (plan in ('run', 'review', 'only'));
`
