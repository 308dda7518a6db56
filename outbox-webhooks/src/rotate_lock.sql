select true from :schema.webhook_endpoint where id = $1 for update
