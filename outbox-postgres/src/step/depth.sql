-- depth: how much waits, for gauges. Steps from name to name along the claim's index, so that it costs by the number of names and not of
-- jobs; each count ends at ten thousand, and so does the look at failed jobs, newest first. What is not due yet is not late.
-- Answer, one row a handler that has any: due jobs, since when the oldest of them is due, failed jobs; in seconds of this server's clock.
with recursive kind (job_type, payload_version) as (
  (select job_type, payload_version from :schema.job_live order by job_type, payload_version limit 1)
  union all
  select n.job_type, n.payload_version
  from kind k cross join lateral (
    select l.job_type, l.payload_version from :schema.job_live l
    where (l.job_type, l.payload_version) > (k.job_type, k.payload_version)
    order by l.job_type, l.payload_version limit 1) n
),
waiting as (
  select k.job_type, sum(c.due) as due, min(c.oldest) as oldest
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
  group by k.job_type
),
failed as (
  select f.job_type, count(*) as failed
  from (select job_type from :schema.job_failed order by completed_at desc, id desc limit 10000) f
  group by f.job_type
)
select coalesce(w.job_type, f.job_type) as handler, coalesce(w.due, 0)::bigint as due,
       extract(epoch from w.oldest)::float8 as oldest, coalesce(f.failed, 0)::bigint as failed
from waiting w full join failed f on f.job_type = w.job_type
