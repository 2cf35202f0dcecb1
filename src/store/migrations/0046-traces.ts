/** How far the spans of finished things were sent: the last event that was looked at. */
export const migration = `
create table trace_position (
  id boolean primary key default true check (id),
  event_id bigint not null
);
`
