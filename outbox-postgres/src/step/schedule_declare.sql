-- schedule_declare: the schedules of this binary, as its code says them. Writes only what changes; those of other binaries are left alone.
-- $1 names text[]  $2 cadences text[]  $3 zones text[]  $4 catch_ups text[]  $5 catch_up_mosts int[]  $6 overlaps text[]
-- $7 max_attempts int[]  $8 priorities smallint[]  $9 next ticks timestamptz[], for those that are new or changed
-- $10, $11 text[]: pairs (name, alias), oldest alias of a schedule first   $12 who says so
-- A name that is an alias of another schedule is that one's: an old binary in a rolling deploy does not bring it back.
-- A renamed schedule goes on where it stood. A changed one is due by its new line from now on; a tick that is due already stays so.
-- Answer: schedules that are new.
with
own as materialized (
  select o.*, coalesce((select array_agg(a.alias order by a.n) from unnest($10::text[], $11::text[]) with ordinality as a (name, alias, n)
                        where a.name = o.name), '{}') as aliases
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::int[], $8::smallint[], $9::timestamptz[])
       as o (name, cadence, zone, catch_up, catch_up_most, overlap, max_attempts, priority, next_tick)
  where not exists (select from :schema.schedule s where o.name = any(s.aliases))
),
renamed as (
  delete from :schema.schedule s using own o
  where s.name = any(o.aliases)
  returning o.name, s.cadence, s.zone, s.next_tick, s.last_tick, s.passed_over, s.paused_at, s.seed
),
earlier as (
  select distinct on (r.name) r.name, r.last_tick, r.passed_over, r.paused_at, r.seed,
         case when (r.cadence, r.zone) = (o.cadence, o.zone) or (r.paused_at is null and r.next_tick <= statement_timestamp())
              then r.next_tick else o.next_tick end as next_tick
  from renamed r join own o on o.name = r.name
  order by r.name, r.last_tick desc nulls last
),
written as (
  insert into :schema.schedule as s
    (name, aliases, cadence, zone, catch_up, catch_up_most, overlap, max_attempts, priority, declared_by,
     next_tick, last_tick, passed_over, paused_at, seed)
  select o.name, o.aliases, o.cadence, o.zone, o.catch_up, o.catch_up_most, o.overlap, o.max_attempts, o.priority, $12::text,
         case when e.name is null then o.next_tick else e.next_tick end, e.last_tick, coalesce(e.passed_over, 0), e.paused_at,
         coalesce(e.seed, gen_random_uuid())
  from own o left join earlier e on e.name = o.name
  order by o.name                                      -- two binaries that start together lock in one order
  on conflict (name) do update
    set aliases = excluded.aliases, cadence = excluded.cadence, zone = excluded.zone, catch_up = excluded.catch_up,
        catch_up_most = excluded.catch_up_most, overlap = excluded.overlap, max_attempts = excluded.max_attempts,
        priority = excluded.priority, declared_by = excluded.declared_by, declared_at = statement_timestamp(),
        next_tick = case when (s.cadence, s.zone) = (excluded.cadence, excluded.zone)
                           or (s.paused_at is null and s.next_tick <= statement_timestamp())
                         then s.next_tick else excluded.next_tick end
    where (s.aliases, s.cadence, s.zone, s.catch_up, s.catch_up_most, s.overlap, s.max_attempts, s.priority)
      is distinct from (excluded.aliases, excluded.cadence, excluded.zone, excluded.catch_up, excluded.catch_up_most, excluded.overlap,
                        excluded.max_attempts, excluded.priority)
  returning s.name, s.xmax = 0 as inserted
)
select w.name from written w where w.inserted and w.name not in (select name from renamed) order by 1
