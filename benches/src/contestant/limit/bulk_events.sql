-- $1 ids   $2 subjects   $3 payloads
insert into system.event (id, event_type, event_version, subject_type, subject_id, payload)
select e.id, 'order.placed', 1, 'order', e.subject, e.payload::jsonb
from unnest($1::uuid[], $2::text[], $3::text[]) as e (id, subject, payload)
