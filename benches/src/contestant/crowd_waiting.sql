-- In the transaction of the events.
-- $1 events   $2 handlers   $3 priority   $4 version   $5 due in so many seconds
insert into system.job_live (id, event_id, max_attempts, priority, payload_version, job_type, available_at)
select (f.floor || lpad(to_hex(n * cardinality($2::text[]) + h.place), 12, '0'))::uuid, (f.floor || lpad(to_hex(n), 12, '0'))::uuid,
       8, $3::smallint, $4::int, h.handler, now() + make_interval(secs => $5::float8) + n * interval '1 ms'
from (select left(system.ulid_floor(now() - interval '1 hour')::text, 24)) f (floor)
cross join generate_series(1, $1::bigint) n
cross join unnest($2::text[]) with ordinality h (handler, place)
