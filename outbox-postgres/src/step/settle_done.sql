-- settle: of jobs that succeeded, with nothing more to say. Nearly all come to that, so it has a statement without what the other
-- outcomes need; the same fence, and the same two looks at the claim.
-- $1 ids uuid[]      $2 claim_ids uuid[]
-- Answer, one row: how many were settled, and which of them, where it is not all.
with
held as materialized (
  select l.tid, i.claim_id
  from unnest($1::uuid[], $2::uuid[]) as i (id, claim_id)
  cross join lateral (select j.ctid as tid from :schema.job_live j where j.id = i.id and j.claim_id = i.claim_id limit 1) l
),
gone as (
  delete from :schema.job_live l
  using held h
  where l.ctid = h.tid and l.claim_id = h.claim_id
  returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
            l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.last_error, l.payload, l.metadata
),
well as (
  insert into :schema.job_succeeded
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
     crashes, priority, status, job_type, ordering_key, ordering_no, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts,
         crashes, priority, 'succeeded', job_type, ordering_key, ordering_no, last_error, payload, metadata
  from gone
)
select count(*), case when count(*) < cardinality($1::uuid[]) then coalesce(array_agg(id), '{}') end from gone
