-- One by its id, or the newest of an endpoint, or those of an event.
select id, endpoint_id, event_id, event_type, created_at, delivered_at, status, next_attempt_at, reason, attempts, last_status, last_error
from :schema.webhook_delivery_log
where ($1::uuid is null or id = $1) and ($2::uuid is null or endpoint_id = $2) and ($3::uuid is null or event_id = $3)
order by created_at desc, id limit $4
