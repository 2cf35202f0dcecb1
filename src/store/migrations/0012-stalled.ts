/**
 * Keeps one goal from stopping the others: how often a merge entry failed for no fault of its work, why a goal's
 * branch is not where it belongs, and which git directory each host saw at the repository's path.
 */
export const migration = `
alter table merge_entry add column failures integer not null default 0;
alter table goal alter column landing set default
  '{"asked": false, "outdated": false, "unverified": false, "sentBack": false, "tries": 0, "refused": null, "broken": null}';
update goal set landing = landing || '{"broken": null}'::jsonb;
create table repository_seen (
  host text primary key,
  directory text not null,
  seen_at timestamptz not null default unstuck_now()
);
`
