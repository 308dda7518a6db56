-- renew: the worker's row only. No row: the lease is lost; cancel everything and begin again under a new id.
-- $1 worker uuid   $2 lease in milliseconds
update :schema.worker set expires_at = now() + $2::bigint * interval '1 ms'
where id = $1::uuid and dead_at is null
returning expires_at
