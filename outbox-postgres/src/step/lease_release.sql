-- lease_release: its owner gives it back: at once, or as soon as it has stood for so long. Harmless twice.
-- $1 name   $2 token   $3 how long it stands at least, in milliseconds from when it was taken
update :schema.lease set holder = null, expires_at = greatest(now(), taken_at + $3::bigint * interval '1 ms')
where name = $1::text and token = $2::bigint and holder is not null
