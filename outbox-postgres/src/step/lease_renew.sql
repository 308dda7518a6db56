-- lease_renew: its owner keeps it. No row: it has ended, or is somebody else's. Does not wait for those who fence an effect by it.
-- $1 name   $2 token   $3 length in milliseconds
update :schema.lease set expires_at = now() + $3::bigint * interval '1 ms'
where name = $1::text and token = $2::bigint and holder is not null and expires_at > now()
returning token
