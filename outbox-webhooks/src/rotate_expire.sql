-- $1 endpoint, $2 for how many seconds the secret of now still signs
with gone as (
  delete from :schema.webhook_secret where endpoint_id = $1 and expires_at <= clock_timestamp()
)
update :schema.webhook_secret set expires_at = clock_timestamp() + $2 * interval '1 second' where endpoint_id = $1 and expires_at is null
