-- quarantine_list: what stands in quarantine, oldest first, without headers and bodies.
-- $1 behind this id, or null   $2 source, $3 class, $4 event type, or null for any   $5 these ids, or null   $6 most rows
select q.id, q.event_id, q.first_at, q.last_at, q.times, q.event_version, q.source, q.class, q.reason, q.event_type
from :schema.quarantine q
where ($1::uuid is null or q.id > $1::uuid)
  and ($2::text is null or q.source = $2::text)
  and ($3::text is null or q.class = $3::text)
  and ($4::text is null or q.event_type = $4::text)
  and ($5::uuid[] is null or q.id = any($5::uuid[]))
order by q.id
limit $6::int
