-- lease_take: a lease that nobody has, or has any more, becomes the caller's under the next token.
-- $1 name   $2 holder   $3 length in milliseconds
-- FOR UPDATE waits for transactions that have fenced an effect by this lease (KEY SHARE), until they have committed: what the former
-- owner does comes before what the next one does, or not at all. A renewal does not wait for them.
-- Answer: the token; else who has it and for how much longer. No row: somebody else made it at this moment.
with
free as materialized (
  select name from :schema.lease where name = $1::text and expires_at <= now() for update
),
taken as (
  update :schema.lease l
  set token = l.token + 1, holder = $2::text, taken_at = now(), expires_at = now() + $3::bigint * interval '1 ms'
  from free where l.name = free.name
  returning l.token
),
made as (
  insert into :schema.lease (name, holder, taken_at, expires_at)
  select $1::text, $2::text, now(), now() + $3::bigint * interval '1 ms'
  where not exists (select from :schema.lease where name = $1::text)
  on conflict (name) do nothing
  returning token
)
select token, null::text as holder, null::bigint as left_ms from taken
union all
select token, null, null from made
union all
select null, coalesce(l.holder, ''), (extract(epoch from l.expires_at - now()) * 1000)::bigint
from :schema.lease l where l.name = $1::text and l.expires_at > now()
