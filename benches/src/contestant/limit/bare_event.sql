-- $1 id   $2 subject   $3 payload
insert into system.event (id, event_type, event_version, subject_type, subject_id, payload)
values ($1::uuid, 'order.placed', 1, 'order', $2::text, $3::text::jsonb)
