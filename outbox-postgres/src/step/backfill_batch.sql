-- backfill_batch: third of the backfill, only when ready: one bounded batch of the missing jobs, and the progress, in one
-- statement. Every event that can lack its job is visible by then, so one pass in id order is complete.
-- $1 handler   $2 event type, or its prefix ('order.' for 'order.*', '' for '*')   $3 whether it is a prefix   $4 most events
-- Looks no further back than a day before the activation: ids carry the publisher's clock, and a transaction may have been open.
-- Answer: events seen, jobs inserted.
with
sub as materialized (
  select handler, aliases, any_version, max_attempts, priority, activation_snapshot, activated_at,
         greatest(backfilled_to, :schema.ulid_floor(activated_at - interval '1 day')) as after_id
  from :schema.subscription where handler = $1::text
),
batch as materialized (
  select e.id, e.event_version
  from sub, lateral (
    select v.id, v.event_version from :schema.event v
    where v.id > sub.after_id
      and case when $3::boolean then starts_with(v.event_type, $2::text) else v.event_type = $2::text end
      and not pg_visible_in_snapshot(v.xid, sub.activation_snapshot)
    order by v.id limit $4::int) e
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
    and not exists (select from :schema.job_succeeded j where j.completed_at >= s.activated_at
                    and j.event_id = b.id and (j.job_type = s.handler or j.job_type = any(s.aliases)))
    and not exists (select from :schema.job_failed j where j.event_id = b.id and (j.job_type = s.handler or j.job_type = any(s.aliases)))
  on conflict (event_id, job_type) do nothing
  returning 1
),
progress as (
  update :schema.subscription s
  set backfilled_to = coalesce((select id from batch order by id desc limit 1), s.backfilled_to),
      backfilled_at = case when (select count(*) from batch) < $4::int then now() end
  where s.handler = $1::text
)
select (select count(*) from batch) as events, (select count(*) from jobs) as inserted
