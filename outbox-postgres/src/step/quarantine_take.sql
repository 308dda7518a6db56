-- quarantine_take: messages that are to go the whole way again, locked. One that somebody else has at this moment is left to them.
-- $1 ids
select q.id, q.source, q.digest, q.headers::text, q.body from :schema.quarantine q
where q.id = any($1::uuid[])
order by q.id
for update skip locked
