-- register: this process becomes a worker; its lease begins.
-- $1 id   $2 name   $3 ranges text[]   $4 lease in milliseconds
insert into :schema.worker (id, name, ranges, expires_at)
values ($1::uuid, $2::text, $3::text[], now() + $4::bigint * interval '1 ms')
