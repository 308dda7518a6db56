-- The jobs of one claim are done: they move to the finished ones, if they are still held under it.
-- $1 ids   $2 claim
with gone as (
  delete from system.job_live l
  using unnest($1::uuid[]) as i (id)
  where l.id = i.id and l.claim_id = $2::uuid
  returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
            l.crashes, l.priority, l.job_type
)
insert into system.job_succeeded
  (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts, crashes,
   priority, status, job_type)
select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts, crashes,
       priority, 'succeeded', job_type
from gone
