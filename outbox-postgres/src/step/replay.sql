-- replay: one bounded batch of events becomes jobs of a subscriber once more, under the events' own ids; or says what would.
-- $1 handler   $2 behind this event's id, $3 before this id   $4 ids uuid[], or null: any
-- $5 an event's name, or its prefix ('order.'), or null: any   $6 whether it is a prefix   $7 subject's type, $8 its id, or null: any
-- $9 occurred from, $10 and before; or null   $11 only those that have no job, nor had one   $12 since when finished jobs are there
-- $13 most events read   $14 whether jobs are written
-- An effect whose mark is there has been had: no job is made that would only find that out. A failed job is redriven, not doubled.
-- Answer, one row: events read, the last one's id, and of those that match, how many there are of each kind and how many jobs.
with
sub as materialized (
  select handler, source, aliases || handler as names, coalesce(aliases[1], handler) as original, any_version, max_attempts, priority
  from :schema.subscription where handler = $1::text and kind = 'event' and retired_at is null
),
read as materialized (
  select v.id, v.event_version, v.event_type, v.subject_type, v.subject_id, v.occurred_at
  from :schema.event v
  where v.id > $2::uuid and v.id < $3::uuid and ($4::uuid[] is null or v.id = any($4::uuid[]))
  order by v.id limit $13::int
),
batch as materialized (
  select r.id, r.event_version, r.occurred_at
  from read r cross join sub s
  where case when s.source = '*' then true
             when s.source like '%.*' then starts_with(r.event_type, left(s.source, -1))
             else r.event_type = s.source end
    and ($5::text is null or case when $6::boolean then starts_with(r.event_type, $5::text) else r.event_type = $5::text end)
    and ($7::text is null or (r.subject_type = $7::text and r.subject_id is not distinct from $8::text))
    and ($9::timestamptz is null or r.occurred_at >= $9::timestamptz)
    and ($10::timestamptz is null or r.occurred_at < $10::timestamptz)
),
-- Once for the whole batch: looked for one by one, each would read all that the index summarises together with it.
finished as materialized (
  select distinct j.event_id from sub s, :schema.job_succeeded j
  where $11::boolean
    and j.event_id between (select id from batch order by id limit 1) and (select id from batch order by id desc limit 1)
    and j.job_type = any(s.names)
),
judged as materialized (
  select b.id, b.event_version,
         case
           when exists (select from :schema.job_live j where j.event_id = b.id and j.job_type = any(s.names)) then 'live'
           when exists (select from :schema.job_failed j where j.event_id = b.id and j.job_type = any(s.names) offset 0) then 'failed'
           when exists (select from :schema.inbox i where i.handler = s.original and i.key = b.id) then 'done'
           when exists (select from :schema.erasure x where x.event_id = b.id) then 'erased'
           when $11::boolean and b.occurred_at < $12::timestamptz then 'unknown'
           when exists (select from finished f where f.event_id = b.id) then 'done'
           else 'due'
         end as state
  from batch b cross join sub s
),
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority)
  select (left(d.id::text, 13) || substr(gen_random_uuid()::text, 14))::uuid,
         d.id, s.handler, case when s.any_version then 0 else d.event_version end, s.max_attempts, s.priority
  from judged d cross join sub s
  where $14::boolean and d.state = 'due'
  on conflict (event_id, job_type) do nothing
  returning 1
)
select (select count(*) from read) as looked_at, (select id from read order by id desc limit 1) as last,
       (select count(*) from jobs) as written,
       count(*) filter (where state = 'due') as due, count(*) filter (where state = 'live') as live,
       count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'done') as done,
       count(*) filter (where state = 'erased') as erased, count(*) filter (where state = 'unknown') as unknown
from judged
