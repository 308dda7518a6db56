-- enqueue: a job that no event caused, for exactly one handler, on the caller's transaction.
-- $1 id uuid       $2 job's name    $3 payload_version   $4 payload text (JSON)   $5 metadata text (JSON)
-- $6 max_attempts  $7 priority      (used when the catalogue does not know the handler)
-- $8 priority asked for, or null    $9 delay in milliseconds   $10 a moment before which it is not due, or null
-- $11 key or null                   $12 how long behind its due time it may be begun, in milliseconds, or null
-- When it expires is kept with its context, by this server's clock: the row has no column that every claim would carry.
-- Answer: the id (the first one's, on a duplicate key), and whether it was enqueued.
with
keyed as (
  insert into :schema.publish_key as k (event_type, key, event_id)
  -- A job may have an event's name; their keys are apart. No name holds a colon.
  select 'job:' || $2::text, $11::text, $1::uuid where $11::text is not null
  on conflict (event_type, key) do update set event_id = k.event_id
  returning k.event_id
),
known as (
  select handler, max_attempts, priority from :schema.subscription
  where kind = 'job' and (handler = $2::text or $2::text = any(aliases)) limit 1
),
job as (
  insert into :schema.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority, available_at)
  select $1::uuid, coalesce(k.handler, $2::text), $3::int, $4::text::jsonb,
         case when $12::bigint is null then $5::text::jsonb
              else $5::text::jsonb || jsonb_build_object('expires_at', extract(epoch from due.at) + $12::bigint / 1000.0) end,
         coalesce(k.max_attempts, $6::int), coalesce($8::smallint, k.priority, $7::smallint), due.at
  from (select greatest(statement_timestamp() + $9::bigint * interval '1 ms', $10::timestamptz) as at) as due left join known k on true
  where $11::text is null or (select event_id from keyed) = $1::uuid
  -- Nothing is returned: whoever enqueues need not be allowed to read jobs.
)
select coalesce((select event_id from keyed), $1::uuid) as id,
       $11::text is null or (select event_id from keyed) = $1::uuid as enqueued
