-- dead_letters: the next piece of all that failed, oldest first, and which of it is meant. Bounded by what is looked at, not by what is found.
-- $1, $2 behind this moment and id, or null: from the first   $3 until this moment; null: until now, which the answer tells
-- $4 most rows looked at   $5 most that are meant
-- $6 failed from, $7 and before   $8 handler   $9 reason   $10 an event's (or job's) name, or its prefix ('order.')   $11 whether it is a prefix
-- $12 subject's type, $13 its id   $14 ids uuid[]; each or null: any
-- Answer, one row: until when, how many were looked at, where to go on, and the ids that are meant with their handlers and messages.
with
looked as materialized (
  select f.id, f.event_id, f.job_type, f.reason, f.completed_at
  from :schema.job_failed f
  where (f.completed_at, f.id) > (coalesce($1::timestamptz, '-infinity'), coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'))
    and f.completed_at <= coalesce($3::timestamptz, now())
    and f.completed_at >= coalesce($6::timestamptz, '-infinity') and f.completed_at < coalesce($7::timestamptz, 'infinity')
    and ($14::uuid[] is null or f.id = any($14::uuid[]))
  order by f.completed_at, f.id limit $4::int
),
meant as materialized (
  select l.id, l.job_type, coalesce(e.event_type, l.job_type) as message, l.completed_at
  from looked l
  left join lateral (select v.event_type, v.subject_type, v.subject_id from :schema.event v where v.id = l.event_id limit 1) e on true
  where ($8::text is null or l.job_type = $8::text)
    and ($9::text is null or l.reason = $9::text)
    and ($10::text is null or case when $11::boolean then starts_with(coalesce(e.event_type, l.job_type), $10::text)
                                   else coalesce(e.event_type, l.job_type) = $10::text end)
    and ($12::text is null or (e.subject_type = $12::text and e.subject_id = $13::text))
  order by l.completed_at, l.id limit $5::int
),
-- Where the meant ones end it, those behind them are looked at once more.
ends as (
  select e.completed_at, e.id
  from (select completed_at, id, (select count(*) from meant) >= $5::int as full_ from meant order by completed_at desc, id desc limit 1) e
  where e.full_
  union all
  (select completed_at, id from looked order by completed_at desc, id desc limit 1)
)
select coalesce($3::timestamptz, now()) as until, (select count(*) from looked) as looked,
       (select completed_at from ends order by completed_at, id limit 1) as last_at, (select id from ends order by completed_at, id limit 1) as last_id,
       coalesce((select array_agg(id order by completed_at, id) from meant), '{}') as ids,
       coalesce((select array_agg(job_type order by completed_at, id) from meant), '{}') as handlers,
       coalesce((select array_agg(message order by completed_at, id) from meant), '{}') as messages
