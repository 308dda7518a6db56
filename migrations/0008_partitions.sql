-- Partitions ahead of time: weeks of event, days of job_succeeded. Created apart and attached days before they are needed,
-- because ATTACH is refused once the DEFAULT partition holds a row of the range.
-- SECURITY DEFINER with a short lock_timeout: a caller that meets 55P03 tries again later; nothing is lost meanwhile,
-- because the DEFAULT partitions take every row.

-- Answers whether it made the partition. A CHECK on the new table spares the scan of it under lock.
create function ensure_partition(parent text, name text, key text, lower_bound text, upper_bound text) returns boolean
language plpgsql set search_path from current as $$
begin
  if to_regclass(format('%I', name)) is not null then
    return false;
  end if;
  execute format('create table %I (like %I including defaults including constraints)', name, parent);
  execute format('alter table %I add constraint %I check (%I is not null and %I >= %L and %I < %L)',
                 name, name || '_range', key, key, lower_bound, key, upper_bound);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, lower_bound, upper_bound);
  execute format('alter table %I drop constraint %I', name, name || '_range');
  if parent = 'event' then
    execute format('create trigger append_only_truncate before truncate on %I
                    for each statement execute function event_is_append_only()', name);
  end if;
  return true;
exception when check_violation then
  raise warning 'partition % is not made: its default partition already holds rows of this range', name;
  return false;
end $$;

-- Answers how many partitions it made. A range whose rows already lie in DEFAULT is left there, with a warning.
create function ensure_partitions(ahead interval default '14 days') returns int
language plpgsql security definer set search_path from current set lock_timeout = '200ms' set timezone = 'UTC' as $$
declare
  start_of timestamptz;
  made int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox partitions ' || current_schema(), 0));
  for start_of in select generate_series(date_trunc('week', now()), now() + ahead, '7 days') loop
    made := made + ensure_partition('event', 'event_' || to_char(start_of, 'YYYYMMDD'), 'id',
                                    ulid_floor(start_of)::text, ulid_floor(start_of + interval '7 days')::text)::int;
  end loop;
  for start_of in select generate_series(date_trunc('day', now()), now() + ahead, '1 day') loop
    made := made + ensure_partition('job_succeeded', 'job_succeeded_' || to_char(start_of, 'YYYYMMDD'), 'completed_at',
                                    start_of::text, (start_of + interval '1 day')::text)::int;
  end loop;
  return made;
end $$;
revoke execute on function ensure_partition(text, text, text, text, text) from public;
revoke execute on function ensure_partitions(interval) from public;

select ensure_partitions();

insert into migration (version, name) values (8, '0008_partitions');
