-- publish_known: one event without a key, and a job for each subscriber that this process knows of, if the catalogue is still the edition
-- that it knows them from. It writes what `publish` would write.
-- $1 id   $2 event_type   $3 event_version   $4 subject_type   $5 subject_id   $6 payload   $7 metadata, both JSON
-- $8 edition of the catalogue
-- $9 ids of the jobs uuid[]   $10 handlers text[]   $11 any_version bool[]   $12 max_attempts int[]   $13 priorities smallint[]
-- $14 delay of the jobs in milliseconds   $15 a moment before which they are not due, or null
-- Answer: occurred_at, and ok. When it is not true, or there is no row, nothing was written, and `publish` has to be asked.
with
allowed as materialized (
  select c.edition = $8::uuid
         -- Above READ COMMITTED the edition may be an earlier one, as everything that the snapshot shows: see publish.
         and case when current_setting('transaction_isolation') = 'read committed' then true
                  else pg_snapshot_xmax(pg_current_snapshot())::text::bigint >= (select last_value from :schema.catalogue_fence) end as ok
  from :schema.catalogue c
       -- Never read. Its lock is what a backfill waits for, before it looks for events of publishers that did not see an activation.
       left join :schema.subscription s on false
),
events as (
  insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload, metadata)
  select $1::uuid, $2::text, $3::int, $4::text, $5::text, $6::text::jsonb, $7::text::jsonb
  where (select ok from allowed)
),
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority, available_at)
  select j.id, $1::uuid, j.handler, case when j.any_version then 0 else $3::int end, j.max_attempts, j.priority,
         greatest(statement_timestamp() + $14::bigint * interval '1 ms', $15::timestamptz)
  from unnest($9::uuid[], $10::text[], $11::boolean[], $12::int[], $13::smallint[]) as j (id, handler, any_version, max_attempts, priority)
  where (select ok from allowed)
)
select ok, statement_timestamp() as occurred_at from allowed
