/**
 * Schedules that begin a goal on an event of the repository instead of at times (their cron expression and time zone are empty), and the
 * commit by which a forge merged a pull request, which is no push of a person.
 */
export const migration = `
alter table schedule add column trigger text check (trigger in ('push', 'ci-failed')),
  add column branch text,
  add column seen text;
alter table forge_link add column merge_commit text;
`
