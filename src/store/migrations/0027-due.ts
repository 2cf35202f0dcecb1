/**
 * Indexes for what each pass of the engine asks: which commits wait for their merge, and which goals are live. Without
 * them a pass reads every goal and every merge that there ever was.
 */
export const migration = `
create index merge_waiting on merge_entry (number) where state in ('pending', 'processing');
create index goal_live on goal (created_at) where state not in ('done', 'failed', 'cancelled');
`
