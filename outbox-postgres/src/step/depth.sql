-- depth: how much waits, for gauges. Steps from name to name along the claim's index, so that it costs by the number of names and not of
-- jobs; each count ends at ten thousand, and so does the look at failed jobs, newest first. What is not due yet is not late.
-- Answer, one row a handler that has any: due jobs, since when the oldest of them is due, failed jobs, parked jobs and since when the oldest
-- of them is; in seconds of this server's clock. And the versions of which no living worker runs the due jobs: which, how many, and for how
-- many seconds the oldest has been due.
with recursive kind (job_type, payload_version) as (
  (select job_type, payload_version from :schema.job_live order by job_type, payload_version limit 1)
  union all
  select n.job_type, n.payload_version
  from kind k cross join lateral (
    select l.job_type, l.payload_version from :schema.job_live l
    where (l.job_type, l.payload_version) > (k.job_type, k.payload_version)
    order by l.job_type, l.payload_version limit 1) n
),
counted as materialized (
  select k.job_type, k.payload_version, c.due, c.oldest
  from kind k
  cross join lateral (
    select count(*) as due, min(w.available_at) as oldest
    -- A range a priority in the order of the index, as the claim has it: otherwise the whole table is read for each name.
    from (select j.available_at
          from generate_series(0, 3) as p (priority)
          cross join lateral (
            select l.available_at from :schema.job_live l
            where l.job_type = k.job_type and l.payload_version = k.payload_version and l.priority = p.priority::smallint
              and l.available_at <= now() and l.status = 'pending'
            order by l.available_at, l.id limit 10000) j
          limit 10000) w) c
),
taken as materialized (
  select distinct r.range from :schema.worker w cross join unnest(w.ranges) as r (range) where w.dead_at is null and w.expires_at > now()
),
judged as materialized (
  select c.*, c.due > 0 and not exists (select from taken t where t.range = c.job_type || '@' || c.payload_version) as starves
  from counted c
),
waiting as (
  select j.job_type, sum(j.due) as due, min(j.oldest) as oldest,
         coalesce(array_agg(j.payload_version order by j.payload_version) filter (where j.starves), '{}') as versions,
         coalesce(array_agg(j.due order by j.payload_version) filter (where j.starves), '{}') as starving,
         -- no time can be taken from an infinite one
         coalesce(array_agg(case when isfinite(j.oldest) then extract(epoch from now() - j.oldest) else 0 end::float8
                            order by j.payload_version) filter (where j.starves), '{}') as late
  from judged j
  group by j.job_type
),
failed as (
  select f.job_type, count(*) as failed
  from (select job_type from :schema.job_failed order by completed_at desc, id desc limit 10000) f
  group by f.job_type
),
parked as (
  select p.job_type, count(*) as parked, min(p.completed_at) as oldest
  from (select job_type, completed_at from :schema.job_failed where reason = 'unknown' order by completed_at, id limit 10000) p
  group by p.job_type
)
select coalesce(w.job_type, f.job_type, p.job_type) as handler, coalesce(w.due, 0)::bigint as due,
       extract(epoch from w.oldest)::float8 as oldest, coalesce(f.failed, 0)::bigint as failed,
       coalesce(p.parked, 0)::bigint as parked, extract(epoch from p.oldest)::float8 as oldest_parked,
       coalesce(w.versions, '{}') as versions, coalesce(w.starving, '{}') as starving, coalesce(w.late, '{}') as late
from waiting w
full join failed f on f.job_type = w.job_type
full join parked p on p.job_type = coalesce(w.job_type, f.job_type)
