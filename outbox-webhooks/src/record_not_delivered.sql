-- $1 delivery, $2 attempt, $3 status, $4 answer, $5 error
with attempt as (
  update :schema.webhook_attempt set ended_at = clock_timestamp(), status = $3, answer = $4, error = $5
  where delivery_id = $1 and id = $2
  returning started_at
)
update :schema.webhook_endpoint e set failing_since = a.started_at
from attempt a, :schema.webhook_delivery d
where d.id = $1 and e.id = d.endpoint_id and e.failing_since is null
