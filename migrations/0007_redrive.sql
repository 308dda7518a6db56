-- redrive: a failed job begins a new life. The only way back from failed; its history of attempts stays.
-- SECURITY DEFINER, because only the owner passes the trigger on job_failed.
-- With `force` the inbox mark is removed too, so that a handler whose effect is already there has it once more.
-- Answers false when no failed job has this id, or a live one of the same event and handler exists.
create function redrive(target uuid, force boolean default false) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  it job_failed%rowtype;
begin
  -- In the body: in the function's head it would take a superuser to create it.
  perform set_config('outbox.owner_work', 'on', true);
  delete from job_failed f where f.id = target
    and not exists (select from job_live l where l.event_id = f.event_id and l.job_type = f.job_type)
  returning f.* into it;
  perform set_config('outbox.owner_work', 'off', true);
  if it.id is null then
    return false;
  end if;
  if force then
    delete from inbox i where i.key = coalesce(it.event_id, it.id)
      and i.handler in (select coalesce(s.aliases[1], s.handler) from subscription s
                        where s.handler = it.job_type or it.job_type = any(s.aliases)
                        union all select it.job_type);
  end if;
  insert into job_live (id, event_id, available_at, created_at, ordering_no, payload_version, max_attempts, priority,
                        job_type, ordering_key, last_error, payload, metadata)
  values (it.id, it.event_id, statement_timestamp(), it.created_at, it.ordering_no, it.payload_version, it.max_attempts,
          it.priority, it.job_type, it.ordering_key, it.last_error, it.payload, it.metadata);
  return true;
end $$;
revoke execute on function redrive(uuid, boolean) from public;

insert into migration (version, name) values (7, '0007_redrive');
