-- audit: one row for each event, written in its transaction. It refers to nothing, because it outlives everything.
create table if not exists solopm.audit_log (
  event_id      uuid        primary key,
  action_type   text        not null,
  actor         text,
  project_id    bigint,
  resource_type text        not null,
  resource_id   text,
  via_webhook   boolean     not null,
  payload       jsonb       not null,
  occurred_at   timestamptz not null
);
create index if not exists audit_log_project on solopm.audit_log (project_id, occurred_at);
