select d.job_id, d.endpoint_id, e.disabled_reason
from :schema.webhook_delivery d join :schema.webhook_endpoint e on e.id = d.endpoint_id
where d.id = $1 for update of d
