update :schema.webhook_endpoint set disabled_at = null, disabled_reason = null, failing_since = null where id = $1
