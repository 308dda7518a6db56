-- In the transaction of the events.
-- $1 events   $2 handlers
insert into system.job_succeeded
  (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, attempts, max_attempts, status, job_type)
select (f.floor || lpad(to_hex(n * cardinality($2::text[]) + h.place), 12, '0'))::uuid, (f.floor || lpad(to_hex(n), 12, '0'))::uuid,
       '00000000-0000-0000-0000-00000000000a', now(), now(), now(), now(), 1, 8, 'succeeded', h.handler
from (select left(system.ulid_floor(now() - interval '1 hour')::text, 24)) f (floor)
cross join generate_series(1, $1::bigint) n
cross join unnest($2::text[]) with ordinality h (handler, place)
