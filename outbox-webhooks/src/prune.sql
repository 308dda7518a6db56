-- $1 age in seconds, $2 most rows. A delivery that is on its way stays.
with old as materialized (
  select d.id from :schema.webhook_delivery d
  where d.created_at < now() - $1 * interval '1 second'
    and not exists (select from :schema.job j where j.id = d.job_id and j.status in ('pending', 'running'))
  order by d.created_at limit $2 for update skip locked
)
delete from :schema.webhook_delivery d using old o where d.id = o.id
