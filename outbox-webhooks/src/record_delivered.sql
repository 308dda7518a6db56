-- $1 delivery, $2 attempt, $3 status, $4 answer
with attempt as (
  update :schema.webhook_attempt set ended_at = clock_timestamp(), status = $3, answer = $4 where delivery_id = $1 and id = $2
),
delivery as (
  update :schema.webhook_delivery set delivered_at = clock_timestamp() where id = $1 and delivered_at is null returning endpoint_id
)
update :schema.webhook_endpoint e set failing_since = null
from delivery d where e.id = d.endpoint_id and e.failing_since is not null
