-- ingest: events that were published elsewhere, of any types, under the ids that they have, with their jobs, in one statement. The same
-- fan-out as publish. An id that is there already is left as it is; two processes with the same event at once: one has it, and the other
-- waits for that and finds it there.
-- $1 ids uuid[], ascending: whoever inserts the same ones does so in the same order   $2 event_types text[]   $3 event_versions int[]
-- $4 occurred_at timestamptz[]   $5 subject_types text[]   $6 subject_ids text[]   $7 payloads text[]   $8 metadata text[] (JSON)
-- $9 declared bool[]: this binary declares or receives events of that name
-- $10, $11 text[]: a type and a pattern that means it, each pair once
-- $12 types, $13 handlers text[], $14 max_attempts int[], $15 priorities smallint[], $16 any_version bool[]: own registry
-- $17 linked text[]: own in-transaction subscribers, by name and alias
-- $18 everything: a subscriber of `*`, a relay or a log, is reason enough to take a type that nobody else knows
-- Answer, a row an event in its order: is_new; jobs of each new event of its type; known: somebody here receives or declares it; unlinked:
-- in-transaction subscribers that this binary does not run; retired: those that are not to be run, by name and alias, with blanks between;
-- stored_as: the type under which the id was there. What is not known, or has unlinked ones, is not written.
with
input as materialized (
  select i.* from unnest($1::uuid[], $2::text[], $3::int[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[])
                  with ordinality as i (id, event_type, event_version, occurred_at, subject_type, subject_id, payload, metadata, declared, n)
),
own as materialized (
  select o.* from unnest($12::text[], $13::text[], $14::int[], $15::smallint[], $16::boolean[])
                  as o (event_type, handler, max_attempts, priority, any_version)
),
known as materialized (
  select m.event_type, m.pattern, s.handler, s.kind, s.aliases, s.any_version, s.max_attempts, s.priority, s.retired_at is not null as retired
  from unnest($10::text[], $11::text[]) as m (event_type, pattern)
  join :schema.subscription s on s.source = m.pattern
  where s.kind <> 'job'
),
bound as materialized (
  select event_type,
         array_agg(handler order by handler) filter (where not retired and not (handler = any($17::text[]) or aliases && $17::text[])) as names,
         string_agg(concat_ws(' ', handler, array_to_string(aliases, ' ')), ' ') filter (where retired) as retired
  from known where kind = 'in_transaction' group by event_type
),
fan_out as materialized (
  select event_type, handler, any_version, max_attempts, priority
  from known where kind <> 'in_transaction' and not retired and not (handler = any($17::text[]) or aliases && $17::text[])
  union all
  select o.event_type, o.handler, o.any_version, o.max_attempts, o.priority
  from own o
  where not exists (select from known k where k.event_type = o.event_type and k.handler = o.handler)
    and not exists (select from :schema.subscription k where k.handler = o.handler or o.handler = any(k.aliases))
),
fit as materialized (
  select i.n, i.declared or exists (select from known k where k.event_type = i.event_type and (k.pattern <> '*' or $18::boolean)) as known,
         (select b.names from bound b where b.event_type = i.event_type) as unlinked
  from input i
),
events as (
  insert into :schema.event (id, occurred_at, event_version, event_type, subject_type, subject_id, payload, metadata)
  select i.id, i.occurred_at, i.event_version, i.event_type, i.subject_type, i.subject_id, i.payload::jsonb, i.metadata::jsonb
  from input i join fit f on f.n = i.n
  where f.known and f.unlinked is null
  order by i.id
  on conflict (id) do nothing
  returning id, event_type, event_version
),
-- A job's id has the time of this statement: the event's may be old.
jobs as (
  insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority)
  select (left(:schema.ulid_floor(statement_timestamp())::text, 13) || substr(gen_random_uuid()::text, 14))::uuid,
         e.id, f.handler, case when f.any_version then 0 else e.event_version end, f.max_attempts, f.priority
  from events e join fan_out f on f.event_type = e.event_type
  on conflict (event_id, job_type) do nothing
)
select e.id is not null as is_new,
       (select count(*) from fan_out o where o.event_type = i.event_type) as jobs,
       f.known, f.unlinked, b.retired,
       case when e.id is null then (select v.event_type from :schema.event v where v.id = i.id) end as stored_as
from input i
join fit f on f.n = i.n
left join bound b on b.event_type = i.event_type
left join events e on e.id = i.id
order by i.n
