-- cancel: an operator ends a job, pending or running; a running handler's later settle changes nothing. $1 id   $2 who and why
with gone as (
  delete from :schema.job_live l where l.id = $1::uuid
  returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
            l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.payload, l.metadata
)
insert into :schema.job_failed
  (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts, crashes,
   priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts, crashes,
       priority, 'failed', job_type, ordering_key, ordering_no, 'cancelled', $2::text, payload, metadata
from gone
returning id
