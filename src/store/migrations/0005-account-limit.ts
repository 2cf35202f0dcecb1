/** Accounts of model providers that are at their limit. No secret is stored: an account is named by a digest. */
export const migration = `
create table account_limit (
  account text primary key,
  harnesses jsonb not null,
  evidence text not null,
  until timestamptz not null,
  task_id text not null references task (id),
  run_id text not null references run (id),
  opened_at timestamptz not null default unstuck_now()
);
`
