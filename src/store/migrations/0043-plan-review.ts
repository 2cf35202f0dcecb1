/** A plan that waits for a yes is a question. */
export const migration = `
alter table escalation drop constraint escalation_kind_check;
alter table escalation add constraint escalation_kind_check check (kind in ('blocker', 'exhausted', 'budget', 'merge_conflict', 'no_playbook',
  'recovery_approval_required', 'recovery_failed', 'recovery_unknown_outcome', 'invalid_proposal', 'agent_question', 'checkout_changed', 'issue_changed',
  'unsigned_commits', 'plan_review'));
`
