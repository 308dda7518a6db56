-- quarantine_get: one message as it came.
-- $1 id
select q.headers::text, q.body from :schema.quarantine q where q.id = $1::uuid
