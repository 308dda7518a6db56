-- Ids as they were an hour ago, in the order of their writing.
-- $1 how many   $2 payload
insert into system.event (id, event_type, event_version, subject_type, subject_id, payload)
select (left(system.ulid_floor(now() - interval '1 hour')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
       'order.placed', 1, 'order', n::text, $2::text::jsonb
from generate_series(1, $1::bigint) n
