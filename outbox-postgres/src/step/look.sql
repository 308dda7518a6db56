-- look: where claims can begin, while many dead rows that somebody's old snapshot keeps stand before the first one that waits.
-- It passes over them once, as a claim from the head would do each time. Reads only.
-- $1 job_types text[]  $2 versions int[]: the ranges, in arrays of equal length   $3 margin in milliseconds
-- Times as seconds, which hold infinity too. Answer, one row a range and priority, in order:
--   low   the first due job that waits stands here (a little before, because of rounding); null: none stands before `high`
--   high  the margin before now, by this server's clock
--   took  microseconds until here
select case when w.available_at < h.high then extract(epoch from w.available_at)::float8 - 0.001 end,
       extract(epoch from h.high)::float8,
       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000000)::bigint
from (select now() - $3::bigint * interval '1 ms' as high) h
cross join unnest($1::text[], $2::int[]) with ordinality as r (job_type, version, n)
cross join generate_series(0, 3) as p (priority)
-- In the claim's own order, up to the first: rows of others' claims in flight count as waiting, which is the safe side.
left join lateral (
  select l.available_at from :schema.job_live l
  where l.job_type = r.job_type and l.payload_version = r.version and l.priority = p.priority::smallint
    and l.available_at <= now() and l.status = 'pending'
  order by l.available_at, l.id limit 1
) w on true
order by r.n, p.priority
