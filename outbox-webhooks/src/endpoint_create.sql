with endpoint as (
  insert into :schema.webhook_endpoint (id, tenant, url, description, event_types, skip_via_webhook)
  values (gen_random_uuid(), $1, $2, $3, $4, $5)
  returning id, tenant, url, description, event_types, skip_via_webhook, created_at, failing_since, disabled_at, disabled_reason
),
secret as (
  insert into :schema.webhook_secret (endpoint_id, secret) select id, $6 from endpoint
)
select * from endpoint
