-- publish: events of one type and their jobs, in one statement on the caller's transaction. Arrays of equal length hold one event
-- a place; one event is simply an array of one.
-- $1 ids uuid[]          $2 event_type      $3 event_version    $4 subject_type    $5 subject_ids text[]
-- $6 payloads text[]     $7 metadata text[] (JSON)
-- $8 patterns text[]: all that mean this type, {'order.placed','order.*','*'}; the client knows them
-- $9 handlers text[]     own registry: stored names  $10 max_attempts int[]  $11 priorities smallint[]  $12 any_version bool[]
-- $13 linked text[]: own in-transaction subscribers, by name and alias
-- $14 delay of the jobs in milliseconds   $15 a moment before which they are not due, or null
-- $16 ids for the jobs uuid[]: one for each event and handler of $9, event by event
-- Answer, a row for each subscriber that has jobs, one with nulls where none has: handler, any_version, max_attempts, priority. Each
-- says the same of the whole: unlinked (refused when not null) and stale (refused when true: retry the transaction); retired:
-- in-transaction subscribers that are not to be run, by name and alias, with blanks between; edition of the catalogue; occurred_at. A
-- refusal writes nothing, and leaves the transaction usable.
-- What it does is kept few nodes of a plan: they are set up anew at each publish, and cost more than a row.
with
known as materialized (
  select handler, kind, aliases, any_version, max_attempts, priority, retired_at is not null as retired
  from :schema.subscription
  where source = any($8::text[]) and kind <> 'job'
),
-- Above READ COMMITTED the snapshot may be older than an activation whose backfill is already complete: stale, to be
-- retried as 40001 is. The sequence is read as it is now, not as of the snapshot; that is the point of it.
allowed as materialized (
  select u.names, u.retired, t.stale, u.names is null and not t.stale as ok
  from (select array_agg(handler order by handler) filter (where kind = 'in_transaction' and not retired
                 and not (handler = any($13::text[]) or aliases && $13::text[])) as names,
               string_agg(concat_ws(' ', handler, array_to_string(aliases, ' ')), ' ') filter (where kind = 'in_transaction' and retired) as retired
        from known) u,
       (select case when current_setting('transaction_isolation') = 'read committed' then false
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
  -- the first of the two says nearly always that there is none, and costs next to nothing
  where o.handler <> all(array(select handler from known))
    and not exists (select from :schema.subscription k where k.handler = o.handler or o.handler = any(k.aliases))
),
events as (
  insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload, metadata)
  select i.id, $2::text, $3::int, $4::text, i.subject_id, i.payload::jsonb, i.metadata::jsonb
  from unnest($1::uuid[], $5::text[], $6::text[], $7::text[]) as i (id, subject_id, payload, metadata)
  where (select ok from allowed)
),
-- A job's id: the client's, which cost the least and lie side by side in the index; for a subscriber that only the catalogue knows the
-- event's 48 bits of time and random ones.
-- Due from this statement on, not from the transaction's start: a long transaction's jobs are not older than they are.
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority, available_at)
  select coalesce(($16::uuid[])[((e.n - 1) * cardinality($9::text[]) + f.place)::int],
                  (left(e.id::text, 13) || substr(gen_random_uuid()::text, 14))::uuid),
         e.id, f.handler, case when f.any_version then 0 else $3::int end, f.max_attempts, f.priority,
         greatest(statement_timestamp() + $14::bigint * interval '1 ms', $15::timestamptz)
  from unnest($1::uuid[]) with ordinality as e (id, n) cross join fan_out f where (select ok from allowed)
)
select f.handler, f.any_version, f.max_attempts, f.priority, a.names as unlinked, a.stale, a.retired,
       (select edition from :schema.catalogue) as edition, statement_timestamp() as occurred_at
from allowed a left join fan_out f on true
