-- publish_keyed: as publish, for events of which some have a key. The same arguments, and
-- $17 keys text[]: one for each event; null: none
-- Answer, a row an event in its order: as publish, and event_id, the first one's on a duplicate key, and published, false then.
-- A refusal and a duplicate write nothing but the key's row version, and leave the transaction usable.
with
input as materialized (
  select i.* from unnest($1::uuid[], $5::text[], $6::text[], $7::text[], $17::text[])
                  with ordinality as i (id, subject_id, payload, metadata, key, n)
),
known as materialized (
  select handler, kind, aliases, any_version, max_attempts, priority, retired_at is not null as retired
  from :schema.subscription
  where source = any($8::text[]) and kind <> 'job'
),
unlinked as materialized (
  select array_agg(handler order by handler) filter (where kind = 'in_transaction' and not retired
           and not (handler = any($13::text[]) or aliases && $13::text[])) as names,
         string_agg(concat_ws(' ', handler, array_to_string(aliases, ' ')), ' ') filter (where kind = 'in_transaction' and retired) as retired
  from known
),
-- Above READ COMMITTED the snapshot may be older than an activation whose backfill is already complete: stale, to be
-- retried as 40001 is. The sequence is read as it is now, not as of the snapshot; that is the point of it.
allowed as materialized (
  select u.names is null and not t.stale as ok, t.stale
  from unlinked u, lateral (select case when current_setting('transaction_isolation') = 'read committed' then false
    else pg_snapshot_xmax(pg_current_snapshot())::text::bigint < (select last_value from :schema.catalogue_fence) end as stale) t
),
-- A name that the catalogue knows, by name or by alias, active or retired, is the catalogue's to say. That maps aliases,
-- removes duplicates and drops the retired at once; own names that it does not know yet are added.
fan_out as materialized (
  select handler, any_version, max_attempts, priority, array_position($9::text[], handler) as place
  from known where kind <> 'in_transaction' and not retired and not (handler = any($13::text[]) or aliases && $13::text[])
  union all
  select o.handler, o.any_version, o.max_attempts, o.priority, array_position($9::text[], o.handler)
  from unnest($9::text[], $10::int[], $11::smallint[], $12::boolean[]) as o (handler, max_attempts, priority, any_version)
  where o.handler <> all(array(select handler from known))
    and not exists (select from :schema.subscription k where k.handler = o.handler or o.handler = any(k.aliases))
),
-- DO UPDATE, because only that returns the row of a caller who committed while we waited. Each key once (the same row twice
-- in one ON CONFLICT is 21000) and in key order (two batches of the same keys do not deadlock), by bytes, as the client
-- orders the statements of one batch.
keyed as (
  insert into :schema.publish_key as k (event_type, key, event_id)
  select distinct on (i.key collate "C") $2::text, i.key, i.id
  from input i
  where i.key is not null and (select ok from allowed)
  order by i.key collate "C", i.n
  on conflict (event_type, key) do update set event_id = k.event_id
  returning k.key, k.event_id
),
fresh as materialized (
  select i.* from input i left join keyed k on k.key = i.key
  where (select ok from allowed) and (i.key is null or k.event_id = i.id)
),
events as (
  insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload, metadata)
  select id, $2::text, $3::int, $4::text, subject_id, payload::jsonb, metadata::jsonb from fresh
),
-- A job's id: the client's, which cost the least and lie side by side in the index; where the catalogue knows of more subscribers than
-- the client does, the event's 48 bits of time and random ones.
-- Due from this statement on, not from the transaction's start: a long transaction's jobs are not older than they are.
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority, available_at)
  select coalesce(($16::uuid[])[((e.n - 1) * cardinality($9::text[]) + f.place)::int],
                  (left(e.id::text, 13) || substr(gen_random_uuid()::text, 14))::uuid),
         e.id, f.handler, case when f.any_version then 0 else $3::int end, f.max_attempts, f.priority,
         greatest(statement_timestamp() + $14::bigint * interval '1 ms', $15::timestamptz)
  from fresh e cross join fan_out f
)
select coalesce(k.event_id, i.id) as event_id,
       (select ok from allowed) and (i.key is null or k.event_id = i.id) as published,
       (select count(*) from fan_out) as jobs,
       (select names from unlinked) as unlinked,
       (select stale from allowed) as stale,
       (select retired from unlinked) as retired, statement_timestamp() as occurred_at
from input i left join keyed k on k.key = i.key
order by i.n
