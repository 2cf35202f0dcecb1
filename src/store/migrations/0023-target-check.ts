/** The checks of a target branch after a goal has landed on it, and commits that a person reverted there. */
export const migration = `
update goal set landing = landing || '{"target": null}';
alter table goal alter column landing set default
  '{"asked": false, "outdated": false, "unverified": false, "sentBack": false, "tries": 0, "refused": null, "broken": null, "target": null}';
create index goal_target_check on goal (ended_at, id) where landing -> 'target' ->> 'state' in ('pending', 'failed');
alter table merge_entry add column reverted_commit text;
`
