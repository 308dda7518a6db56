-- inspect: one failed job, with its message. $1 its id
-- A client's calendar is shorter than the server's, and knows no infinity.
select f.id, f.event_id, f.job_type, f.reason, f.last_error, f.attempts, f.max_attempts, f.crashes,
       least(greatest(f.created_at, '0001-01-01 UTC'), '9999-12-31 UTC') as created_at, f.completed_at,
       coalesce(e.event_type, f.job_type), coalesce(e.event_version, f.payload_version),
       least(greatest(coalesce(e.occurred_at, f.created_at), '0001-01-01 UTC'), '9999-12-31 UTC') as occurred_at, e.subject_type, e.subject_id,
       coalesce(e.metadata, f.metadata)::text as metadata, coalesce(e.payload, f.payload)::text as payload,
       coalesce((select coalesce(s.aliases[1], s.handler) from :schema.subscription s
                 where s.handler = f.job_type or f.job_type = any(s.aliases) limit 1), f.job_type) as original
from :schema.job_failed f
left join lateral (
  select v.event_type, v.event_version, v.occurred_at, v.subject_type, v.subject_id, v.metadata, v.payload
  from :schema.event v where v.id = f.event_id limit 1
) e on true
where f.id = $1::uuid
