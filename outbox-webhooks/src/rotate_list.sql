select secret from :schema.webhook_secret where endpoint_id = $1 and (expires_at is null or expires_at > clock_timestamp())
order by expires_at desc nulls first limit 4
