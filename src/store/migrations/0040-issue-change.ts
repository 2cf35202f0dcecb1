/** Issues that changed after their goals began: what was asked about, and goals that a person has begin again. */
export const migration = `
alter table forge_link add column issue_seen text;
alter table forge_link add column restart boolean not null default false;
alter table escalation drop constraint escalation_kind_check;
alter table escalation add constraint escalation_kind_check check (kind in ('blocker', 'exhausted', 'budget', 'merge_conflict', 'no_playbook',
  'recovery_approval_required', 'recovery_failed', 'recovery_unknown_outcome', 'invalid_proposal', 'agent_question', 'checkout_changed', 'issue_changed'));
`
