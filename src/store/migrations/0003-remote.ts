/** Goals on a repository given by URL. */
export const migration = `
alter table goal drop constraint goal_repo_mode_check;
alter table goal add constraint goal_repo_mode_check check (repo_mode in ('local', 'direct', 'remote'));
`
