insert into :schema.webhook_secret (endpoint_id, secret) values ($1, $2)
