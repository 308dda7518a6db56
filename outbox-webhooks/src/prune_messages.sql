-- $1 age in seconds, $2 most rows.
with old as materialized (
  select m.id from :schema.webhook_message m
  where m.occurred_at < now() - $1 * interval '1 second'
    and not exists (select from :schema.webhook_delivery d where d.event_id = m.id)
  limit $2 for update skip locked
)
delete from :schema.webhook_message m using old o where m.id = o.id
