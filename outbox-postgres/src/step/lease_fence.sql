-- lease_fence: in the transaction of an effect: it commits only as the owner's, because nobody can take the lease before it has ended.
-- No row: the lease is somebody else's, or was given back.
-- $1 name   $2 token
select token from :schema.lease where name = $1::text and token = $2::bigint and holder is not null for key share
