-- In the handler's transaction: its mark in the inbox, and the job moves to the finished ones, if it is still held under this claim and
-- its effect was not there before.
-- $1 job   $2 claim   $3 handler   $4 event
with mark as (
  insert into system.inbox (handler, key) values ($3::text, $4::uuid) on conflict do nothing returning 1
),
gone as (
  delete from system.job_live l
  where l.id = $1::uuid and l.claim_id = $2::uuid and exists (select from mark)
  returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
            l.crashes, l.priority, l.job_type
)
insert into system.job_succeeded
  (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts, crashes,
   priority, status, job_type)
select id, event_id, locked_by, available_at, created_at, locked_at, clock_timestamp(), payload_version, attempts, max_attempts,
       crashes, priority, 'succeeded', job_type
from gone
