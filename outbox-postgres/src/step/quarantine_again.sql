-- quarantine_again: these were tried once more, and are still no events here.
-- $1 ids   $2 classes text[]   $3 reasons text[]
update :schema.quarantine q set class = i.class, reason = i.reason
from unnest($1::uuid[], $2::text[], $3::text[]) as i (id, class, reason) where q.id = i.id
