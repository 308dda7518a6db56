-- $1 event, $2 tenant, $3 patterns that mean it, $4 name, $5 when, $6 whether an incoming webhook caused it, $7 body
with matching as (
  -- Who deletes one of them meanwhile waits; who changes one does not.
  select e.id from :schema.webhook_endpoint e
  where e.tenant = $2 and e.disabled_at is null
    and (cardinality(e.event_types) = 0 or e.event_types && $3)
    and not (e.skip_via_webhook and $6)
  for key share
),
message as (
  insert into :schema.webhook_message (id, occurred_at, event_type, body)
  select $1, $5, $4, $7 where exists (select from matching)
  on conflict (id) do nothing
)
insert into :schema.webhook_delivery (id, endpoint_id, event_id)
select gen_random_uuid(), m.id, $1 from matching m
on conflict (endpoint_id, event_id) do nothing
returning id, endpoint_id
