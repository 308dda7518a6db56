-- One by its id, or all of a tenant.
select id, tenant, url, description, event_types, skip_via_webhook, created_at, failing_since, disabled_at, disabled_reason
from :schema.webhook_endpoint where ($1::uuid is not null and id = $1) or ($1 is null and tenant = $2)
order by created_at, id
