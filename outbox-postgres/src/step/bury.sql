-- bury: a dead worker's row goes once it holds nothing. What a rescue had to pass over, because somebody had the row locked,
-- would otherwise be held for ever by a worker that nobody knows. $1 workers uuid[]
with holding as materialized (
  select distinct l.locked_by from :schema.job_live l where l.status = 'running' and l.locked_by = any($1::uuid[])
)
delete from :schema.worker w
where w.id = any($1::uuid[]) and w.dead_at is not null and w.id not in (select h.locked_by from holding h)
