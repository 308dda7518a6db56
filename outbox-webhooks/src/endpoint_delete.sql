delete from :schema.webhook_endpoint where id = $1
