-- job: one logical table, partitioned by status. The partitions carry the keys; a key of the parent would have to hold status.
create table job (
  id              uuid        not null,
  event_id        uuid,                              -- null exactly for jobs that come from no event
  claim_id        uuid,                              -- the fence: fresh for each claim statement
  locked_by       uuid,                              -- worker.id
  available_at    timestamptz not null default statement_timestamp(),
  created_at      timestamptz not null default statement_timestamp(),
  locked_at       timestamptz,
  completed_at    timestamptz,
  ordering_no     bigint,                            -- place within its ordering key
  payload_version int         not null default 1,    -- 0: a handler that takes any version
  attempts        int         not null default 0,    -- executions begun; a graceful return takes its own back
  max_attempts    int         not null check (max_attempts > 0),
  crashes         int         not null default 0,    -- how often its process died while it was held
  priority        smallint    not null default 1 check (priority between 0 and 3),
  status          text        not null default 'pending',
  job_type        text        not null,              -- stored name of its handler
  ordering_key    text,
  reason          text,                              -- why it ended, where the status does not say it
  last_error      text        check (octet_length(last_error) <= 16384),
  payload         jsonb,                             -- of a job without event; never a copy of the event's
  metadata        jsonb,                             -- context of a job without event
  check ((event_id is null) = (payload is not null)),
  check ((status = 'running') = (claim_id is not null)),
  check ((status in ('succeeded', 'failed')) = (completed_at is not null))
) partition by list (status);

-- Pending and running. Nothing that a claim writes (status, claim_id, locked_*, attempts, crashes) may stand in a key or
-- predicate here: a claim is then a heap-only update, and writes no index at all.
create table job_live partition of job
  (primary key (id), constraint job_live_event_handler unique (event_id, job_type))
  for values in ('pending', 'running')
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index job_live_claim on job_live (job_type, payload_version, priority, available_at, id);

-- Ended well: nothing refers to these rows, so retention drops whole partitions.
create table job_succeeded partition of job for values in ('succeeded') partition by range (completed_at);
create table job_succeeded_default partition of job_succeeded default;

-- Ended badly: kept until a person or its own long age removes it (S0-27).
create table job_failed partition of job (primary key (id)) for values in ('failed');
create index job_failed_completed on job_failed (completed_at, id);
create index job_failed_event on job_failed (event_id);

create function job_is_final() returns trigger
language plpgsql set search_path from current as $$
begin
  if coalesce(current_setting('outbox.owner_work', true), '') = 'on'
     and current_user = (select pg_get_userbyid(relowner) from pg_class where oid = tg_relid) then
    return case when tg_op = 'DELETE' then old else new end;
  end if;
  raise exception 'a % job is final: % refused', old.status, tg_op using errcode = 'restrict_violation',
    hint = 'a failed job is run again by the function redrive(id)';
end $$;
create trigger final before update or delete on job_succeeded for each row execute function job_is_final();
create trigger final before update or delete on job_failed    for each row execute function job_is_final();

-- attempt: one row a failed execution, written on failure only.
create table attempt (
  job_id     uuid        not null,
  claim_id   uuid        not null,
  worker_id  uuid,
  started_at timestamptz not null,
  ended_at   timestamptz not null default clock_timestamp(),
  attempt    int         not null,
  outcome    text        not null,     -- what became of the job: retry | failed | crashed
  error      text        check (octet_length(error) <= 16384),
  primary key (job_id, claim_id)       -- a refund repeats an attempt number, never a claim id
);
create index attempt_ended on attempt (ended_at);

insert into migration (version, name) values (3, '0003_job');
