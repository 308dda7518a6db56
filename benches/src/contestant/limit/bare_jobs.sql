-- $1 ids of the jobs   $2 id of the event   $3 handlers
insert into system.job_live (id, event_id, job_type, max_attempts)
select j.id, $2::uuid, j.handler, 8 from unnest($1::uuid[], $3::text[]) as j (id, handler)
