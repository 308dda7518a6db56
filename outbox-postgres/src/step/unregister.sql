-- unregister: a worker's row goes only when it holds nothing; otherwise its lease ends, and rescue takes what is left.
-- $1 id
with held as materialized (
  select exists (select from :schema.job_live where locked_by = $1::uuid and status = 'running') as any
),
gone as (
  delete from :schema.worker where id = $1::uuid and not (select h.any from held h)
  returning id
)
update :schema.worker set expires_at = least(expires_at, now())
where id = $1::uuid and dead_at is null and (select h.any from held h)
