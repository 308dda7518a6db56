-- $1 ids   $2 ids of the events   $3 handlers
insert into system.job_live (id, event_id, job_type, max_attempts)
select j.id, j.event_id, j.handler, 8 from unnest($1::uuid[], $2::uuid[], $3::text[]) as j (id, event_id, handler)
