-- settle: a mixed batch of what became of running jobs. Fenced by (id, claim_id); answers the ids that it settled.
-- $1 ids uuid[]      $2 claim_ids uuid[]   $3 outcomes text[]: succeeded | failed | retry | snooze | return
-- $4 delays bigint[] in milliseconds (retry, snooze; 0 else)   $5 reasons text[]   $6 errors text[]
-- $7 how long each ran, bigint[] in milliseconds
-- snooze and return refund the attempt. A retry without an attempt left ends as failed: the row's own max_attempts wins.
-- An id may stand in a batch once. Each row is looked up by its primary key, one at a time, and then written by its place: LIMIT keeps the
-- planner from any other way, which it would take when a vacuum beside an old snapshot has told it that the table holds no row.
-- DELETE + INSERT, not an UPDATE that moves the row between partitions: whoever meets a moved row fails as a whole (40001).
with
input as materialized (
  select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])
           as i (id, claim_id, outcome, delay_ms, reason, error, ran_ms)
),
held as materialized (
  select l.tid, l.worker, i.* from input i
  cross join lateral (select j.ctid as tid, j.locked_by as worker from :schema.job_live j where j.id = i.id and j.claim_id = i.claim_id limit 1) l
),
gone as (
  delete from :schema.job_live l
  using held i
  -- The claim once more: a row that was taken from us in between is another one by now.
  where l.ctid = i.tid and l.claim_id = i.claim_id
    and (i.outcome in ('succeeded', 'failed') or (i.outcome = 'retry' and l.attempts >= l.max_attempts))
  returning l.id, l.event_id, l.claim_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts,
            l.max_attempts, l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.last_error, l.payload, l.metadata,
            i.outcome, i.error, i.reason, i.ran_ms
),
well as (
  insert into :schema.job_succeeded
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
     crashes, priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts,
         crashes, priority, 'succeeded', job_type, ordering_key, ordering_no, reason, coalesce(error, last_error), payload, metadata
  from gone where outcome = 'succeeded'
),
badly as (
  insert into :schema.job_failed
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
     crashes, priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts,
         crashes, priority, 'failed', job_type, ordering_key, ordering_no,
         coalesce(reason, 'exhausted'), coalesce(error, last_error), payload, metadata
  from gone where outcome <> 'succeeded'
),
kept as (
  update :schema.job_live l
  set status = 'pending', claim_id = null, locked_by = null, locked_at = null,
      available_at = case i.outcome when 'return' then l.available_at else now() + i.delay_ms * interval '1 ms' end,
      attempts     = l.attempts - case when i.outcome = 'retry' then 0 else 1 end,
      last_error   = coalesce(i.error, l.last_error)
  from held i
  where l.ctid = i.tid and l.claim_id = i.claim_id
    and (i.outcome in ('snooze', 'return') or (i.outcome = 'retry' and l.attempts < l.max_attempts))
  returning l.id, l.attempts, i.worker, i.outcome, i.claim_id, i.error, i.ran_ms
),
-- By the clock that the delay counts from, or the history would show attempts closer to each other than they were.
history as (
  insert into :schema.attempt (job_id, claim_id, worker_id, started_at, ended_at, attempt, outcome, error)
  select id, claim_id, locked_by, now() - ran_ms * interval '1 ms', now(), attempts, 'failed', error
  from gone where outcome <> 'succeeded'
  union all
  -- RETURNING shows the new row, without its worker, which is that of the old one.
  select k.id, k.claim_id, k.worker, now() - k.ran_ms * interval '1 ms', now(), k.attempts, 'retry', k.error
  from kept k
  where k.outcome = 'retry'
)
select id from gone union all select id from kept
