-- failed: what waits for a person, newest first, with the event's name.
-- A client's calendar is shorter than the server's, and knows no infinity.
-- $1 handler or null   $2 most rows   $3 of these ids only, uuid[], or null
select f.id, f.event_id, f.job_type, f.reason, f.last_error, f.attempts, f.max_attempts, f.crashes,
       least(greatest(f.created_at, '0001-01-01 UTC'), '9999-12-31 UTC') as created_at, f.completed_at,
       coalesce(e.event_type, f.job_type), coalesce(e.event_version, f.payload_version)
from :schema.job_failed f
left join lateral (select v.event_type, v.event_version from :schema.event v where v.id = f.event_id limit 1) e on true
where ($1::text is null or f.job_type = $1::text) and ($3::uuid[] is null or f.id = any($3::uuid[]))
order by f.completed_at desc, f.id desc
limit $2::int
