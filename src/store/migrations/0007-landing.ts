/**
 * What a goal still needs before it can land, and areas that are held from a claim until the work is merged or given
 * up. The lease ends with the run: a task that started between that and the merge would start from a base without that
 * work. Tasks that already wait for their merge hold their areas too, the oldest first if they overlap.
 */
export const migration = `
alter table goal add column landing jsonb not null
  default '{"asked": false, "outdated": false, "unverified": false, "sentBack": false, "tries": 0, "refused": null}';

create table area_hold (
  task_id text primary key references task (id),
  span area_multirange not null,
  constraint area_hold_span_excl exclude using gist (span with &&)
);
insert into area_hold (task_id, span) select task_id, span from lease where span is not null;
insert into area_hold (task_id, span)
  select id, span from task where block_reason = 'awaiting_judge' and span is not null order by created_at, id
  on conflict do nothing;
alter table lease drop column span;
drop index task_running;
create index task_holding on task (id) where state = 'running' or block_reason = 'awaiting_judge';
`
