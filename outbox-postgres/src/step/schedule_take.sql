-- schedule_take: ticks become jobs as an enqueue writes them, and the schedule moves on to its next tick, in one statement behind its lock.
-- $1 name   $2 next tick, or null   $3 ticks timestamptz[], oldest first   $4 ids uuid[] and $5 payloads text[] (JSON) of their jobs
-- $6 payload_version   $7 whether other ticks were missed
-- Answer: whether there was no unended run in the way, and how many jobs were written.
with
turn as materialized (
  select s.name, s.last_tick, s.max_attempts, s.priority,
         s.overlap = 'allow' or cardinality($3::timestamptz[]) = 0 or not :schema.schedule_is_busy(s.name) as free
  from :schema.schedule s
  where s.name = $1::text
),
job as (
  insert into :schema.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority, available_at)
  select n.id, t.name, $6::int, n.payload::jsonb, '{}', t.max_attempts, t.priority, statement_timestamp()
  from turn t cross join unnest($3::timestamptz[], $4::uuid[], $5::text[]) as n (tick, id, payload)
  -- Whatever moved the row back (a clock, a hand, a restored backup): a tick that has had its job has no other.
  where t.free and (t.last_tick is null or n.tick > t.last_tick)
  on conflict (id) do nothing
  returning id
)
update :schema.schedule s
set next_tick = $2::timestamptz,
    last_tick = case when t.free then greatest(s.last_tick, (select max(n.tick) from unnest($3::timestamptz[]) as n (tick))) else s.last_tick end,
    passed_over = s.passed_over + ($7::boolean or not t.free)::int
from turn t
where s.name = t.name
returning t.free, (select count(*) from job)
