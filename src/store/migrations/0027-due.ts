/**
 * Indexes for what each pass of the engine asks: which tasks are due, which commits wait for their merge, and which goals are live. Without
 * them a pass reads every task and every merge that there ever was.
 */
export const migration = `
drop index task_retry;
drop index task_rework_due;
create index task_due on task (retry_at) where state = 'failed' or block_reason in ('quota_wait', 'needs_rework');
create index merge_waiting on merge_entry (number) where state in ('pending', 'processing');
create index goal_live on goal (created_at) where state not in ('done', 'failed', 'cancelled');
`
