update :schema.webhook_endpoint set disabled_at = clock_timestamp(), disabled_reason = $2 where id = $1 and disabled_at is null
