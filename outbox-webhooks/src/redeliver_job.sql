update :schema.webhook_delivery set job_id = $2, delivered_at = null where id = $1
