-- quarantine: messages that are no events here, one row each. One that is there already is delivered once more, and says now what is wrong
-- with it now.
-- $1 ids uuid[]   $2 source   $3 digests bytea[], ascending and each once   $4 times bigint[]   $5 classes text[]   $6 reasons text[]
-- $7 event ids uuid[]   $8 event types text[]   $9 event versions int[]   $10 headers text[] (JSON)   $11 bodies bytea[]
-- Answer, a row a message in its order: id, and is_new.
with
input as materialized (
  select i.* from unnest($1::uuid[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::int[], $10::text[], $11::bytea[])
                  with ordinality as i (id, digest, times, class, reason, event_id, event_type, event_version, headers, body, n)
),
kept as (
  insert into :schema.quarantine as q (id, source, digest, times, class, reason, event_id, event_type, event_version, headers, body)
  select i.id, $2::text, i.digest, i.times, i.class, i.reason, i.event_id, i.event_type, i.event_version, i.headers::jsonb, i.body
  from input i order by i.n
  on conflict (source, digest) do update
  set times = q.times + excluded.times, last_at = statement_timestamp(), class = excluded.class, reason = excluded.reason,
      event_id = excluded.event_id, event_type = excluded.event_type, event_version = excluded.event_version
  returning q.id, q.digest
)
select k.id, k.id = i.id as is_new from input i join kept k on k.digest = i.digest order by i.n
