-- A statement behind the lock: one that waited for it would still look with the eyes of before.
select exists (select from :schema.job j where j.id = $1 and j.status in ('pending', 'running'))
