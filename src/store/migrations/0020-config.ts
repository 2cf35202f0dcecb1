/**
 * What each engine made of its configuration: the digest of the settings in use (their text is a file in the state folder, because they
 * may contain secrets), a change that waits for a person, changes that may apply but are frozen still, and files that are not valid.
 * A decision must survive a restart.
 */
export const migration = `
create table config_state (
  place text primary key,
  accepted text not null,
  waiting jsonb,
  granted jsonb not null default '[]',
  rejected jsonb not null default '[]',
  version integer not null default 1,
  updated_at timestamptz not null default unstuck_now()
);
`
