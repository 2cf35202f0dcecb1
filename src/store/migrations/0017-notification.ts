/** The outbox of notifications: what to tell, one row per channel with the state of its delivery, and the answers that a button may give. */
export const migration = `
create table notification (
  id text primary key,
  kind text not null,
  severity text not null check (severity in ('low', 'normal', 'high', 'urgent')),
  goal_id text references goal (id),
  task_id text,
  run_id text,
  escalation_id text references escalation (id),
  data jsonb not null,
  created_at timestamptz not null default unstuck_now(),
  due_at timestamptz not null,
  handed_over_at timestamptz,
  withdrawn_at timestamptz
);
create index notification_due on notification (due_at) where handed_over_at is null and withdrawn_at is null;
create index notification_of_escalation on notification (escalation_id);

create table notification_delivery (
  notification_id text not null references notification (id) on delete cascade,
  channel text not null,
  attempts integer not null default 0,
  next_at timestamptz not null default unstuck_now(),
  delivered_at timestamptz,
  given_up_at timestamptz,
  problem text not null default '',
  primary key (notification_id, channel)
);
create index notification_delivery_due on notification_delivery (next_at) where delivered_at is null and given_up_at is null;

create table notification_button (
  token_hash text primary key,
  notification_id text not null references notification (id) on delete cascade,
  escalation_id text not null references escalation (id),
  choice text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index notification_button_open on notification_button (expires_at) where used_at is null;
`
