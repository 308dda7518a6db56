-- live: the events that became visible since the last read, for live streams. Which those are says the snapshot of that read, not the
-- order of ids or times: transactions commit late, and in any order. Ids only bound where it looks: they carry the publisher's clock.
-- Most reads look at ids from $3 on. Those of a sweep, now and then, look below it too, for what became visible since the last sweep.
-- $1 snapshot of the last read; null: the first, which only says where things stand
-- $2 snapshot of the last sweep; null: this is none   $3 what is below it is for sweeps   $4 no id below it is looked at, but for
-- $5 transactions that were open at the last sweep and are not any more: for these $6, in order
-- $7 most ids that it looks at, from the newest on   $8, $9 most events and most bytes of them that it answers: else their types alone
-- Answer: one row of where things stand (`snapshot` is not null), then the events. One published behind another's commit comes behind it.
with
bound as materialized (
  select least($4::uuid, (select o.low from unnest($5::text[], $6::uuid[]) as o (xid, low)
                          where pg_visible_in_snapshot(o.xid::xid8, pg_current_snapshot())
                          order by o.low limit 1)) as low
),
looked as materialized (
  select e.id, e.xid from bound b, lateral (
    select v.id, v.xid from :schema.event v where v.id >= b.low order by v.id desc limit $7::int) e
),
-- The second half is for tables that were copied here from another cluster, whose numbers this one has not reached.
fresh as materialized (
  select l.id from looked l
  where not pg_visible_in_snapshot(l.xid, case when l.id >= $3::uuid then $1::text else $2::text end::pg_snapshot)
    and pg_visible_in_snapshot(l.xid, pg_current_snapshot())
),
found as materialized (
  -- A client's calendar is shorter than the server's, and knows no infinity.
  select e.id, e.xid, e.event_type, e.event_version, least(greatest(e.occurred_at, '0001-01-01 UTC'), '9999-12-31 UTC') as occurred_at,
         e.subject_type, e.subject_id, e.metadata::text, e.payload::text
  from (select f.id from fresh f limit $8::bigint) f join :schema.event e on e.id = f.id
),
amount as materialized (
  select (select count(*) from fresh) > $8::bigint or coalesce(sum(octet_length(f.payload) + octet_length(f.metadata)), 0) > $9::bigint as too_much
  from found f
)
select pg_current_snapshot()::text as snapshot, pg_postmaster_start_time() as server,
       floor(extract(epoch from statement_timestamp()) * 1000)::bigint as read_at,
       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000000)::bigint as took,
       (select l.id from looked l order by l.id limit 1) as lowest,
       (select count(*) from looked) >= $7::int as cut,
       case when a.too_much then array(select distinct e.event_type from fresh f join :schema.event e on e.id = f.id) end as skipped,
       null::bigint as place, null::uuid as id, null::text as event_type, null::int as event_version, null::timestamptz as occurred_at,
       null::text as subject_type, null::text as subject_id, null::text as metadata, null::text as payload
from amount a
union all
select null, null, null, null, null, null, null,
       row_number() over (order by f.xid, f.id), f.id, f.event_type, f.event_version, f.occurred_at, f.subject_type, f.subject_id,
       f.metadata, f.payload
from amount a, found f
where not a.too_much
order by place nulls first
