-- backfill_batch: third of the backfill, only when ready: one bounded batch of the missing jobs, and the progress, in one
-- statement. Every event that can lack its job is visible by then, so one pass in id order is complete.
-- $1 handler   $2 event type, or its prefix ('order.' for 'order.*', '' for '*')   $3 whether it is a prefix   $4 most events of this type
-- $5 most events of any type that it reads: they are many, and a filter tells the planner that few are left, so that it would rather read
-- and sort all of them for each batch
-- Looks no further back than a day before the activation: ids carry the publisher's clock, and a transaction may have been open.
-- Answer: events of this type, jobs inserted.
with
sub as materialized (
  select handler, aliases, any_version, max_attempts, priority, activation_snapshot, activated_at,
         greatest(backfilled_to, :schema.ulid_floor(activated_at - interval '1 day')) as after_id
  from :schema.subscription where handler = $1::text
),
read as materialized (
  select e.id, e.event_version, e.event_type, e.xid, sub.activation_snapshot
  from sub, lateral (
    select v.id, v.event_version, v.event_type, v.xid from :schema.event v
    where v.id > sub.after_id order by v.id limit $5::int) e
),
batch as materialized (
  select r.id, r.event_version from read r
  where case when $3::boolean then starts_with(r.event_type, $2::text) else r.event_type = $2::text end
    and not pg_visible_in_snapshot(r.xid, r.activation_snapshot)
  order by r.id limit $4::int
),
-- Once for the whole batch: looked for one by one, each would read all that the index summarises together with it.
finished as materialized (
  select j.event_id from sub s, :schema.job_succeeded j
  where j.completed_at >= s.activated_at
    and j.event_id between (select id from batch order by id limit 1) and (select id from batch order by id desc limit 1)
    and (j.job_type = s.handler or j.job_type = any(s.aliases))
),
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority)
  select (left(b.id::text, 13) || substr(gen_random_uuid()::text, 14))::uuid,
         b.id, s.handler, case when s.any_version then 0 else b.event_version end, s.max_attempts, s.priority
  from batch b cross join sub s
  -- A snapshot shows each job in exactly one place, live or finished, and no job of a visible event can be on its way; so
  -- what it shows nowhere is missing. The unique key alone would not do: it sees the present, in which a job that the snapshot
  -- shows as live may have finished. The finished side is read from the activation on.
  where not exists (select from :schema.job_live j where j.event_id = b.id and (j.job_type = s.handler or j.job_type = any(s.aliases)))
    and not exists (select from finished f where f.event_id = b.id)
    -- `offset 0` keeps it a look by the index for each: failed jobs can be many, and would all be hashed for each batch.
    and not exists (select from :schema.job_failed j
                    where j.event_id = b.id and (j.job_type = s.handler or j.job_type = any(s.aliases)) offset 0)
  on conflict (event_id, job_type) do nothing
  returning 1
),
progress as (
  update :schema.subscription s
  -- As far as the batch, when it is full: behind it others can lie that were read.
  set backfilled_to = coalesce(case when (select count(*) from batch) < $4::int
                                    then (select id from read order by id desc limit 1)
                                    else (select id from batch order by id desc limit 1) end, s.backfilled_to),
      backfilled_at = case when (select count(*) from batch) < $4::int and (select count(*) from read) < $5::int then now() end
  where s.handler = $1::text
)
select (select count(*) from batch) as events, (select count(*) from jobs) as inserted
