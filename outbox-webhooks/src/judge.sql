-- $1 endpoint, $2 the delivery that has just failed for good, $3 most of them that are counted
with it as (
  select e.id, e.tenant, e.description, e.failing_since, e.disabled_at from :schema.webhook_endpoint e where e.id = $1 for update
)
select it.tenant, it.description, it.failing_since,
       coalesce(extract(epoch from clock_timestamp() - it.failing_since), 0)::bigint as failing_for,
       1 + (select count(*) from (
         select from :schema.webhook_delivery d
         -- Eight attempts take two hours. What was made a day before the first failure and failed since is passed over, so that the
         -- log of a busy endpoint is not read from its beginning; the newest come first, where the dead ones are.
         where d.endpoint_id = it.id and d.created_at >= it.failing_since - interval '1 day'
           and d.id <> $2 and d.delivered_at is null
           and exists (select from :schema.webhook_attempt a where a.delivery_id = d.id and a.started_at >= it.failing_since)
           and not exists (select from :schema.job j where j.id = d.job_id and j.status in ('pending', 'running'))
         order by d.created_at desc limit $3) as others) as dead
from it where it.disabled_at is null
