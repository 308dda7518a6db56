-- cancel: an operator ends a job, pending or running; a running handler's later settle changes nothing.
-- SECURITY DEFINER as redrive is: an operator needs no right to delete jobs, and a job does not go without its record.
-- Answers false when no live job has this id. Compatible with 8, whose binaries cancel by a statement of their own.
create function cancel(target uuid, why text) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  with gone as (
    delete from job_live l where l.id = target
    returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
              l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.payload, l.metadata
  )
  insert into job_failed
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts, crashes,
     priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts, crashes,
         priority, 'failed', job_type, ordering_key, ordering_no, 'cancelled', why, payload, metadata
  from gone;
  return found;
end $$;
revoke execute on function cancel(uuid, text) from public;

insert into migration (version, name, compatible_from) values (10, '0010_cancel', 8);
