-- The due jobs of one handler become running, and come with their payloads.
-- $1 worker   $2 claim   $3 handler   $4 most
with picked as materialized (
  select id
  from system.job_live
  where job_type = $3::text and payload_version = 1 and priority = 1 and available_at <= now() and status = 'pending'
  order by available_at, id
  limit $4::bigint
  for update skip locked
),
claimed as (
  update system.job_live l
  set status = 'running', claim_id = $2::uuid, locked_by = $1::uuid, locked_at = now(), attempts = l.attempts + 1
  from unnest(array(select id from picked)) as p (id)
  where l.id = p.id
  returning l.id, l.event_id, l.attempts
)
select c.id, c.event_id, c.attempts, e.payload::text
from claimed c
left join lateral (select v.payload from system.event v where v.id = c.event_id limit 1) e on true
