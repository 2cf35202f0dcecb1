/** A playbook of the owner proposes commands as well. */
export const migration = `
alter table recovery_proposal drop constraint recovery_proposal_source_check;
alter table recovery_proposal add constraint recovery_proposal_source_check check (source in ('agent', 'diagnosis', 'playbook', 'person'));
`
