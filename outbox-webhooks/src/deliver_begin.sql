-- $1 delivery, $2 this job, $3 its attempt
with it as (
  select d.id, d.event_id, d.endpoint_id, d.delivered_at, d.job_id, e.url, e.disabled_reason, m.body,
         array(select s.secret from :schema.webhook_secret s
               where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now())
               order by s.expires_at desc nulls first limit 4) as secrets,
         -- The row's own limit is what the engine goes by.
         $3 >= (select j.max_attempts from :schema.job j where j.id = $2 and j.status = 'running') as is_last
  from :schema.webhook_delivery d
  join :schema.webhook_endpoint e on e.id = d.endpoint_id
  join :schema.webhook_message m on m.id = d.event_id
  where d.id = $1
),
begun as (
  insert into :schema.webhook_attempt (delivery_id, job_id, attempt)
  select id, $2, $3 from it where job_id = $2 and delivered_at is null and disabled_reason is null
  returning id
)
select it.event_id, it.endpoint_id, it.url, it.body, it.secrets, coalesce(it.is_last, false) as is_last, it.disabled_reason,
       it.delivered_at is not null as is_delivered, it.job_id is distinct from $2 as is_superseded, (select id from begun) as attempt_id
from it
