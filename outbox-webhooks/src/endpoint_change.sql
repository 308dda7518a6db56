update :schema.webhook_endpoint set
  url = coalesce($2, url), description = coalesce($3, description), event_types = coalesce($4, event_types),
  skip_via_webhook = coalesce($5, skip_via_webhook)
where id = $1
returning id, tenant, url, description, event_types, skip_via_webhook, created_at, failing_since, disabled_at, disabled_reason
