-- quarantine_remove: these do not stand in quarantine any more.
-- $1 ids
delete from :schema.quarantine q where q.id = any($1::uuid[]) returning q.id
