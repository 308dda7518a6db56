-- settle_tx: of a handler that took the transaction: inbox mark and completion, in that transaction, before its commit.
-- $1 job id   $2 claim_id   $3 name of its inbox mark   $4 key of its inbox mark   $5 name of the transaction
-- Answer, always one row: same (still the transaction that was begun for the handler), marked (the effect is the first one),
-- settled (the claim is still ours). All three, or the caller rolls back.
with
-- The setting was made for this transaction only: a handler that ended it and began another has lost it.
same as materialized (
  select coalesce(current_setting('outbox.claim', true), '') = $5::uuid::text as ok
),
mark as (
  insert into :schema.inbox (handler, key)
  select $3::text, $4::uuid where (select ok from same)
  on conflict do nothing
  returning 1
),
gone as (
  delete from :schema.job_live l
  where l.id = $1::uuid and l.claim_id = $2::uuid and (select ok from same)
  returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
            l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.last_error, l.payload, l.metadata
),
well as (
  insert into :schema.job_succeeded
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
     crashes, priority, status, job_type, ordering_key, ordering_no, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, clock_timestamp(), payload_version, attempts, max_attempts,
         crashes, priority, 'succeeded', job_type, ordering_key, ordering_no, last_error, payload, metadata
  from gone
)
select (select ok from same) as same, exists (select from mark) as marked, exists (select from gone) as settled
