-- survey_jobs: waiting jobs that no living worker, and not this binary, can run. Steps from name to name along the claim's
-- index, so that it costs by the number of names and not of jobs; a count ends at ten thousand.
-- $1 own (name, version) pairs: names text[]   $2 versions int[]
with recursive kind (job_type, payload_version) as (
  (select job_type, payload_version from :schema.job_live order by job_type, payload_version limit 1)
  union all
  select n.job_type, n.payload_version
  from kind k cross join lateral (
    select l.job_type, l.payload_version from :schema.job_live l
    where (l.job_type, l.payload_version) > (k.job_type, k.payload_version)
    order by l.job_type, l.payload_version limit 1) n
)
select k.job_type, k.payload_version, c.waiting, c.oldest,
       -- which versions of it the living workers and this binary do take
       array(select o.version from unnest($1::text[], $2::int[]) as o (job_type, version) where o.job_type = k.job_type
             union
             select split_part(r, '@', 2)::int from :schema.worker w cross join unnest(w.ranges) r
             where w.dead_at is null and w.expires_at > now() and split_part(r, '@', 1) = k.job_type
             order by 1) as taken
from kind k
cross join lateral (
  select count(*) as waiting, min(w.created_at) as oldest
  -- A range a priority in the order of the index, as the claim has it: otherwise the whole table is read for each name.
  from (select j.created_at
        from generate_series(0, 3) as p (priority)
        cross join lateral (
          select l.created_at from :schema.job_live l
          where l.job_type = k.job_type and l.payload_version = k.payload_version and l.priority = p.priority::smallint
            and l.status = 'pending'
          order by l.available_at, l.id limit 10000) j
        limit 10000) w) c
where not exists (select from unnest($1::text[], $2::int[]) as o (job_type, version)
                  where o.job_type = k.job_type and o.version = k.payload_version)
  and not exists (select from :schema.worker w where w.dead_at is null and w.expires_at > now()
                  and k.job_type || '@' || k.payload_version = any(w.ranges))
  and c.waiting > 0
order by 1, 2
