/** Tasks that wait for a quota become due like failed ones. */
export const migration = `
drop index task_retry;
create index task_retry on task (retry_at) where state = 'failed' or block_reason = 'quota_wait';
`
