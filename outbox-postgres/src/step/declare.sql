-- declare: what this binary's handlers are, into the catalogue. Writes only what changes.
-- $1 handlers text[]  $2 sources text[]  $3 kinds text[]  $4 any_version bool[]  $5 max_attempts int[]  $6 priorities smallint[]
-- $7, $8 text[]: pairs (handler, alias), oldest alias of a handler first   $9 whether what is unknown is parked, bool[]
-- A name that is an alias of another handler is that handler's: an old binary in a rolling deploy does not bring it back.
-- A renamed handler takes over its earlier entry, so that it is neither activated nor backfilled a second time.
-- Answer: handlers of events that are new, and so activated.
with
own as materialized (
  select o.*, coalesce((select array_agg(a.alias order by a.n) from unnest($7::text[], $8::text[]) with ordinality as a (handler, alias, n)
                        where a.handler = o.handler), '{}') as aliases
  from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::int[], $6::smallint[], $9::boolean[])
       as o (handler, source, kind, any_version, max_attempts, priority, parks)
  where not exists (select from :schema.subscription s where o.handler = any(s.aliases))
),
renamed as (
  delete from :schema.subscription s using own o
  where s.handler = any(o.aliases)
  returning o.handler, s.retired_at, s.activated_at, s.activation_snapshot, s.barrier_xid, s.barrier_holders, s.backfilled_to, s.backfilled_at
),
earlier as (
  select distinct on (handler) * from renamed order by handler, activated_at
),
written as (
  insert into :schema.subscription as s
    (handler, source, kind, aliases, any_version, max_attempts, priority, parks,
     retired_at, activated_at, activation_snapshot, barrier_xid, barrier_holders, backfilled_to, backfilled_at)
  select o.handler, o.source, o.kind, o.aliases, o.any_version, o.max_attempts, o.priority, o.parks,
         e.retired_at, coalesce(e.activated_at, statement_timestamp()), coalesce(e.activation_snapshot, pg_current_snapshot()),
         e.barrier_xid, e.barrier_holders, e.backfilled_to, e.backfilled_at
  from own o left join earlier e on e.handler = o.handler
  order by o.handler                                   -- two binaries that start together lock in one order
  on conflict (handler) do update
    set source = excluded.source, kind = excluded.kind, aliases = excluded.aliases, any_version = excluded.any_version,
        max_attempts = excluded.max_attempts, priority = excluded.priority, parks = excluded.parks
    where (s.source, s.kind, s.aliases, s.any_version, s.max_attempts, s.priority, s.parks)
      is distinct from (excluded.source, excluded.kind, excluded.aliases, excluded.any_version, excluded.max_attempts, excluded.priority,
                        excluded.parks)
  returning s.handler, s.kind, s.xmax = 0 as inserted
)
select w.handler from written w where w.inserted and w.kind = 'event' and w.handler not in (select handler from renamed) order by 1
