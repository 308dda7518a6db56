-- Outcomes that nobody knows: a job is parked as failed, reason unknown, until the owner of its effect has answered; see docs/adr/0030.

-- Whether a handler's jobs are parked when their worker dies while it holds them. A rescue reads it, which any node does, also for
-- handlers that it does not link.
alter table subscription add column parks boolean not null default false;

-- What is parked, oldest first: of all that failed, the few that somebody has to be asked about.
create index job_failed_parked on job_failed (completed_at, id) where reason = 'unknown';

-- resolve: the owner's answer about a parked job. It took effect: succeeded, reason confirmed, without another call, and with the mark
-- that keeps a replay from having the effect once more. It did not: a new life, due now.
-- SECURITY DEFINER as redrive is. Answers false when no parked job has this id, or a live one of the same event and handler exists.
create function resolve(target uuid, took_effect boolean) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  it job_failed%rowtype;
begin
  perform set_config('outbox.owner_work', 'on', true);
  delete from job_failed f where f.id = target and f.reason = 'unknown'
    and (took_effect or not exists (select from job_live l where l.event_id = f.event_id and l.job_type = f.job_type))
  returning f.* into it;
  perform set_config('outbox.owner_work', 'off', true);
  if it.id is null then
    return false;
  end if;
  if took_effect then
    insert into inbox (handler, key)
    select coalesce((select coalesce(s.aliases[1], s.handler) from subscription s
                     where s.handler = it.job_type or it.job_type = any(s.aliases) limit 1), it.job_type),
           coalesce(it.event_id, it.id)
    on conflict do nothing;
    insert into job_succeeded
      (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
       crashes, priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
    values
      (it.id, it.event_id, it.locked_by, it.available_at, it.created_at, it.locked_at, now(), it.payload_version, it.attempts,
       it.max_attempts, it.crashes, it.priority, 'succeeded', it.job_type, it.ordering_key, it.ordering_no, 'confirmed', it.last_error,
       it.payload, it.metadata);
  else
    insert into job_live (id, event_id, available_at, created_at, ordering_no, payload_version, max_attempts, priority,
                          job_type, ordering_key, last_error, payload, metadata)
    values (it.id, it.event_id, statement_timestamp(), it.created_at, it.ordering_no, it.payload_version, it.max_attempts,
            it.priority, it.job_type, it.ordering_key, it.last_error, it.payload, it.metadata);
  end if;
  return true;
end $$;
revoke execute on function resolve(uuid, boolean) from public;

-- redrive, as in 0007, but for what is parked: to run that again before its effect's owner has answered is what parking is there to
-- prevent, also by force. And by force an expired command may be begun after all.
-- A crash stays with a job whose handler parks: a process of an earlier release ended it as crashed, or gave it back and somebody cancelled
-- it then. With it in its new life, it is parked by whoever claims it, and not begun.
create or replace function redrive(target uuid, force boolean default false) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  it job_failed%rowtype;
begin
  -- In the body: in the function's head it would take a superuser to create it.
  perform set_config('outbox.owner_work', 'on', true);
  delete from job_failed f where f.id = target and f.reason is distinct from 'unknown'
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
                        job_type, ordering_key, last_error, payload, metadata, crashes)
  values (it.id, it.event_id, statement_timestamp(), it.created_at, it.ordering_no, it.payload_version, it.max_attempts,
          it.priority, it.job_type, it.ordering_key, it.last_error, it.payload,
          case when force then it.metadata - 'expires_at' else it.metadata end,
          case when exists (select from subscription s where s.parks and (s.handler = it.job_type or it.job_type = any(s.aliases)))
               then it.crashes else 0 end);
  return true;
end $$;

-- cancel, as in 0010, but for what runs and is parked when its call is broken off: its handler may be calling, and is not stopped.
create or replace function cancel(target uuid, why text) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  with gone as (
    delete from job_live l where l.id = target
    returning l.id, l.event_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts, l.max_attempts,
              l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.payload, l.metadata, l.status
  )
  insert into job_failed
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts, crashes,
     priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts, crashes,
         priority, 'failed', job_type, ordering_key, ordering_no,
         case when status = 'running' and exists (select from subscription s where s.parks
                                                  and (s.handler = gone.job_type or gone.job_type = any(s.aliases)))
              then 'unknown' else 'cancelled' end,
         why, payload, metadata
  from gone;
  return found;
end $$;

-- prune_failed, as in 0012, but for what is parked: that stays until it was answered, whatever its age.
create or replace function prune_failed(age interval, most int default 1000) returns pruned
language plpgsql security definer set search_path from current set lock_timeout = '100ms' set jit = off set enable_seqscan = off as $$
declare
  result pruned := (0, 0, null, false, false);
  oldest timestamptz;
begin
  if not retention_begins('failed', age, '7 days') then
    return result;
  end if;
  oldest := least(now() - age, retention_backfill());
  perform set_config('outbox.owner_work', 'on', true);
  with old as materialized (
    select f.id from job_failed f where f.completed_at < oldest and f.reason is distinct from 'unknown'
    order by f.completed_at, f.id limit most for update skip locked
  )
  delete from job_failed f using unnest(array(select id from old)) as o (id) where f.id = o.id;
  get diagnostics result.gone = row_count;
  perform set_config('outbox.owner_work', 'off', true);
  result.more := result.gone >= most;
  perform retention_ends('failed', result, '1 hour');
  return result;
end $$;

insert into migration (version, name, compatible_from) values (17, '0017_outcome', 8);
