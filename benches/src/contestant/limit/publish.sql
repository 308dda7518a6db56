-- One event and a job for each subscriber of the catalogue.
-- $1 id of the event   $2 subject   $3 payload   $4 patterns that mean this event
with known as (
  select handler, max_attempts, priority
  from system.subscription
  where source = any($4::text[]) and kind = 'event' and retired_at is null
),
event as (
  insert into system.event (id, event_type, event_version, subject_type, subject_id, payload)
  values ($1::uuid, 'order.placed', 1, 'order', $2::text, $3::text::jsonb)
)
insert into system.job_live (id, event_id, job_type, max_attempts, priority)
select (left($1::uuid::text, 13) || substr(gen_random_uuid()::text, 14))::uuid, $1::uuid, handler, max_attempts, priority
from known
