-- retention: what has ended leaves by age. Whole partitions are dropped, the rest goes in bounded batches; see docs/adr/0013.
--
-- Each chore is a function that does one bounded piece of work in one transaction and answers whether more is left. Any number of
-- nodes may call it at once: the row of the chore lets one of them in, and the others do nothing. SECURITY DEFINER, because the
-- final and append-only rows yield to the owner alone; whoever may call them cannot ask for less than the least ages below.
-- A lock that somebody holds is waited for 100 ms, then the chore is put off, so that nobody stands behind it for longer.

-- When each chore is due, and where its walk through a table goes on.
create table retention (
  chore  text        primary key,
  due_at timestamptz not null default '-infinity',
  place  bigint      not null default 0
);
insert into retention (chore) values ('succeeded'), ('events'), ('failed'), ('attempts'), ('inbox'), ('publish_keys');

create type pruned as (
  gone    bigint,   -- rows that were removed one by one
  moved   bigint,   -- events that are still referred to, and went to the default partition
  dropped text,     -- the partition that was dropped
  more    boolean,  -- whether it is worth asking again at once
  held    boolean   -- whether a lock that somebody holds put it off
);

-- Whether jobs still refer to a week of events is asked by ranges of ids. job_live and job_failed have their keys for that; here rows come
-- in the order of time, so a summary of each megabyte tells which of them to look into, and settling writes nothing for it.
create or replace function ensure_partition(parent text, name text, key text, lower_bound text, upper_bound text) returns boolean
language plpgsql set search_path from current as $$
begin
  if to_regclass(format('%I', name)) is not null then
    return false;
  end if;
  execute format('create table %I (like %I including defaults including constraints)', name, parent);
  execute format('alter table %I add constraint %I check (%I is not null and %I >= %L and %I < %L)',
                 name, name || '_range', key, key, lower_bound, key, upper_bound);
  if parent = 'job_succeeded' then
    execute format('create index %I on %I using brin (event_id) with (autosummarize = on)', name || '_event', name);
  end if;
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

create function retention_name(relation regclass) returns text
language sql stable set search_path from current as $$ select relname::text from pg_class where oid = relation $$;

-- The partitions of a range, without DEFAULT, and those that somebody gave other bounds.
create function retention_partitions(parent text) returns table (part regclass, low text, high text, has_event_index boolean)
language sql stable set search_path from current set timezone = 'UTC' set datestyle = 'ISO' as $$
  select c.oid::regclass, m[1], m[2],
         exists (select from pg_index x join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
                 where x.indrelid = c.oid and a.attname = 'event_id')
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid and c.relkind = 'r' and not i.inhdetachpending,
  regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''([^'']*)''\) TO \(''([^'']*)''\)$') m
  where i.inhparent = to_regclass(parent) and m is not null
$$;

-- Those that are empty have theirs from here; the others get theirs when nobody writes to them any more.
do $$
declare
  it record;
  is_empty boolean;
begin
  for it in select part from retention_partitions('job_succeeded') where not has_event_index
            union all select 'job_succeeded_default'::regclass loop
    execute format('select not exists (select from %s)', it.part) into is_empty;
    if is_empty then
      execute format('create index %I on %s using brin (event_id) with (autosummarize = on)', retention_name(it.part) || '_event', it.part);
    end if;
  end loop;
end $$;

-- A backfill looks at finished jobs from its activation on, and at events from a day before it: these stay until it is complete.
create function retention_backfill() returns timestamptz
language sql stable set search_path from current as $$
  select coalesce(min(activated_at), 'infinity') from subscription
  where kind = 'event' and retired_at is null and backfilled_at is null
$$;

-- Whether it is this caller's turn; then nobody else's until the transaction ends.
create function retention_begins(what text, age interval, least_age interval) returns boolean
language plpgsql set search_path from current as $$
begin
  if age is null or age < least_age then
    raise exception 'retention of %: an age of % is not safe, the least is %', what, coalesce(age::text, 'null'), least_age
      using errcode = 'invalid_parameter_value';
  end if;
  perform from retention where chore = what and due_at <= now() for update skip locked;
  return found;
end $$;

create function retention_ends(what text, result pruned, rest interval, at_place bigint default 0) returns void
language sql set search_path from current as $$
  update retention
  set due_at = case when result.held then now() + interval '5 min' when result.more then now() else now() + rest end, place = at_place
  where chore = what
$$;

-- The next place of a walk, in blocks of 8 kB: here again when the limit was reached, and 0 behind the end.
create function retention_place(relation regclass, place bigint, step bigint, stay boolean) returns bigint
language sql volatile set search_path from current as $$
  select case when stay then place
              when place + step >= pg_relation_size(relation) / current_setting('block_size')::bigint then 0
              else place + step end
$$;

-- Jobs that ended well: days whose end is older than the age, one a call; then the old rows of the default partition.
create function prune_succeeded(age interval, most int default 1000) returns pruned
language plpgsql security definer
set search_path from current set lock_timeout = '100ms' set timezone = 'UTC' set datestyle = 'ISO' set jit = off as $$
declare
  result pruned := (0, 0, null, false, false);
  step constant bigint := 32;
  oldest timestamptz;
  at_place bigint;
  day regclass;
begin
  if not retention_begins('succeeded', age, '1 day') then
    return result;
  end if;
  oldest := least(now() - age, retention_backfill());
  select p.part into day from retention_partitions('job_succeeded') p
  where p.high::timestamptz <= oldest order by p.high::timestamptz limit 1;
  if found then
    begin
      -- Who else changes the catalogue's entries of these tables is not met half way.
      if pg_try_advisory_xact_lock(hashtextextended('outbox partitions ' || current_schema(), 0)) then
        result.dropped := day::text;
        lock table only job_succeeded in access exclusive mode;
        execute format('drop table %s', day);
        result.more := true;
      else
        result.held := true;
      end if;
    exception when lock_not_available or deadlock_detected then
      result.dropped := null;
      result.held := true;
    end;
    perform retention_ends('succeeded', result, '1 hour');
    return result;
  end if;
  select r.place into at_place from retention r where r.chore = 'succeeded';
  perform set_config('outbox.owner_work', 'on', true);
  with old as materialized (
    select j.ctid as at from job_succeeded_default j
    where j.ctid >= format('(%s,0)', at_place)::tid and j.ctid < format('(%s,0)', at_place + step)::tid and j.completed_at < oldest
    limit most for update skip locked
  )
  delete from job_succeeded_default j using unnest(array(select at from old)) as o (at) where j.ctid = o.at;
  get diagnostics result.gone = row_count;
  perform set_config('outbox.owner_work', 'off', true);
  at_place := retention_place('job_succeeded_default', at_place, step, result.gone >= most);
  result.more := at_place > 0 or result.gone >= most;
  perform retention_ends('succeeded', result, '1 hour', at_place);
  return result;
end $$;

-- The events of a range that jobs refer to; null: there are more such jobs than `most`. One statement, and so one snapshot: it shows
-- a job in one place, live or finished, also while it is settled or redriven.
create function retention_references(low uuid, high uuid, most int) returns uuid[]
language sql stable set search_path from current as $$
  with found as (
    (select event_id from job_live where event_id >= low and event_id < high limit most + 1)
    union all
    (select event_id from job_failed where event_id >= low and event_id < high limit most + 1)
    union all
    (select event_id from job_succeeded where event_id >= low and event_id < high limit most + 1)
  )
  select case when count(*) <= most then coalesce(array_agg(distinct event_id), '{}') end from found
$$;

-- Events: weeks whose end is older than the age, one a call. Those that a job still refers to go to the default partition, where the
-- job's next claim, redrive and reader find them; a week with more than `most` of such jobs, or 8 MB of such events, stays as it is. Then the old ones of the
-- default partition that no job refers to any more.
create function prune_events(age interval, most int default 1000) returns pruned
language plpgsql security definer
set search_path from current set lock_timeout = '100ms' set timezone = 'UTC' set datestyle = 'ISO' set jit = off set enable_seqscan = off as $$
declare
  result pruned := (0, 0, null, false, false);
  step constant bigint := 16;
  oldest timestamptz;
  at_place bigint;
  it record;
  referred uuid[];
  size bigint;
  candidates uuid[];
begin
  if not retention_begins('events', age, '7 days') then
    return result;
  end if;
  -- Ids count from 1970.
  oldest := greatest(least(now() - age, retention_backfill() - interval '1 day'), 'epoch');
  for it in select p.part, p.low::uuid as low, p.high::uuid as high from retention_partitions('event') p
            where p.high::uuid <= ulid_floor(oldest) order by p.high::uuid loop
    -- A day of finished jobs from before this migration has no summary of its events yet; nobody writes to it any more.
    declare
      day record;
    begin
      select p.part, p.high::timestamptz < now() as is_over into day from retention_partitions('job_succeeded') p
      where not p.has_event_index and p.low::timestamptz <= now() order by p.high::timestamptz limit 1;
      if found then
        if day.is_over then
          execute format('create index %I on %s using brin (event_id) with (autosummarize = on)', retention_name(day.part) || '_event', day.part);
          result.more := true;
        end if;
        perform retention_ends('events', result, '1 hour');
        return result;
      end if;
    exception when lock_not_available or deadlock_detected then
      result.held := true;
      perform retention_ends('events', result, '1 hour');
      return result;
    end;
    -- Asked first without a lock, because nobody should wait for the answer. What has to be moved is written behind the lock.
    referred := retention_references(it.low, it.high, most);
    continue when referred is null;
    execute format('select coalesce(sum(pg_column_size(payload) + pg_column_size(metadata)), 0) from %s where id = any($1)', it.part)
      into size using referred;
    continue when size > 8 * 1024 * 1024;
    begin
      if not pg_try_advisory_xact_lock(hashtextextended('outbox partitions ' || current_schema(), 0)) then
        raise lock_not_available;
      end if;
      -- A publisher whose transaction is open, a backfill and a reader of this week hold it until they end.
      lock table only event in access exclusive mode;
      execute format('lock table only %s in access exclusive mode', it.part);
      -- Asked again, because what they wrote is seen now, and nothing can be added meanwhile.
      referred := retention_references(it.low, it.high, most);
      if referred is not null then
        execute format('alter table event detach partition %s', it.part);
        execute format('insert into event (id, occurred_at, xid, event_version, event_type, subject_type, subject_id, payload, metadata)
                        select id, occurred_at, xid, event_version, event_type, subject_type, subject_id, payload, metadata
                        from %s where id = any($1)', it.part) using referred;
        get diagnostics result.moved = row_count;
        result.dropped := it.part::text;
        execute format('drop table %s', it.part);
        result.more := true;
      end if;
    exception when lock_not_available or deadlock_detected then
      result.moved := 0;
      result.dropped := null;
      result.held := true;
    end;
    if result.more or result.held then
      perform retention_ends('events', result, '1 hour');
      return result;
    end if;
  end loop;

  select r.place into at_place from retention r where r.chore = 'events';
  candidates := array(
    select e.id from event_default e
    where e.ctid >= format('(%s,0)', at_place)::tid and e.ctid < format('(%s,0)', at_place + step)::tid and e.occurred_at < oldest
      and coalesce((select false from job_live l where l.event_id = e.id limit 1), true)
      and coalesce((select false from job_failed f where f.event_id = e.id limit 1), true)
  );
  -- What no live and no failed job referred to a moment ago has got none since, so a later snapshot may look at the finished side.
  referred := array(
    select distinct s.event_id from job_succeeded s
    where s.event_id >= (select c from unnest(candidates) c order by c limit 1)
      and s.event_id <= (select c from unnest(candidates) c order by c desc limit 1)
      and s.event_id = any(candidates)
  );
  perform set_config('outbox.owner_work', 'on', true);
  with free as materialized (
    select e.id from event_default e join unnest(candidates) c on c = e.id
    where e.id <> all(referred) limit most for update of e skip locked
  )
  delete from event_default e using unnest(array(select id from free)) as f (id) where e.id = f.id;
  get diagnostics result.gone = row_count;
  perform set_config('outbox.owner_work', 'off', true);
  at_place := retention_place('event_default', at_place, step, result.gone >= most);
  result.more := at_place > 0 or result.gone >= most;
  perform retention_ends('events', result, '1 hour', at_place);
  return result;
end $$;

-- Jobs that failed, behind their own long age.
create function prune_failed(age interval, most int default 1000) returns pruned
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
    select f.id from job_failed f where f.completed_at < oldest order by f.completed_at, f.id limit most for update skip locked
  )
  delete from job_failed f using unnest(array(select id from old)) as o (id) where f.id = o.id;
  get diagnostics result.gone = row_count;
  perform set_config('outbox.owner_work', 'off', true);
  result.more := result.gone >= most;
  perform retention_ends('failed', result, '1 hour');
  return result;
end $$;

-- Failed executions: those of a job that is still there, live or failed, stay with it.
create function prune_attempts(age interval, most int default 1000) returns pruned
language plpgsql security definer set search_path from current set lock_timeout = '100ms' set jit = off set enable_seqscan = off as $$
declare
  result pruned := (0, 0, null, false, false);
  at_place bigint;
  looked bigint;
  last_place bigint;
begin
  if not retention_begins('attempts', age, '7 days') then
    return result;
  end if;
  select r.place into at_place from retention r where r.chore = 'attempts';
  -- The place is a time, in microseconds; those that stay are not looked at again before the next pass.
  with old as materialized (
    select a.job_id, a.claim_id, a.ended_at from attempt a
    where a.ended_at >= to_timestamp(at_place / 1000000.0) and a.ended_at < now() - age
    order by a.ended_at limit most
  ),
  free as materialized (
    select o.job_id, o.claim_id from old o
    where coalesce((select false from job_live l where l.id = o.job_id limit 1), true)
      and coalesce((select false from job_failed f where f.id = o.job_id limit 1), true)
  ),
  freed as (
    delete from attempt a using free f where a.job_id = f.job_id and a.claim_id = f.claim_id returning 1
  )
  select count(*), coalesce(floor(extract(epoch from max(o.ended_at)) * 1000000), 0), (select count(*) from freed)
  into looked, last_place, result.gone from old o;
  result.more := looked >= most and (result.gone > 0 or last_place > at_place);
  perform retention_ends('attempts', result, '1 hour', case when result.more then last_place else 0 end);
  return result;
end $$;

-- Inbox marks: a mark is what keeps a replay, a redrive and a message that comes twice from a second effect, so it outlives its event and
-- every job that could still run. The table is walked block by block: an index on the time would cost each effect.
create function prune_inbox(age interval, most int default 1000) returns pruned
language plpgsql security definer set search_path from current set lock_timeout = '100ms' set jit = off set enable_seqscan = off as $$
declare
  result pruned := (0, 0, null, false, false);
  step constant bigint := 32;
  at_place bigint;
begin
  if not retention_begins('inbox', age, '7 days') then
    return result;
  end if;
  select r.place into at_place from retention r where r.chore = 'inbox';
  with free as materialized (
    select i.handler, i.key from inbox i
    where i.ctid >= format('(%s,0)', at_place)::tid and i.ctid < format('(%s,0)', at_place + step)::tid and i.created_at < now() - age
      and coalesce((select false from event e where e.id = i.key limit 1), true)
      and coalesce((select false from job_live l where l.event_id = i.key limit 1), true)
      and coalesce((select false from job_live l where l.id = i.key limit 1), true)
      and coalesce((select false from job_failed f where f.event_id = i.key limit 1), true)
      and coalesce((select false from job_failed f where f.id = i.key limit 1), true)
    limit most for update skip locked
  )
  delete from inbox i using free f where i.handler = f.handler and i.key = f.key;
  get diagnostics result.gone = row_count;
  at_place := retention_place('inbox', at_place, step, result.gone >= most);
  result.more := at_place > 0 or result.gone >= most;
  perform retention_ends('inbox', result, '1 day', at_place);
  return result;
end $$;

-- Publish keys: in the same way, and never before the event, or the job, that the key was given to.
create function prune_publish_keys(age interval, most int default 1000) returns pruned
language plpgsql security definer set search_path from current set lock_timeout = '100ms' set jit = off set enable_seqscan = off as $$
declare
  result pruned := (0, 0, null, false, false);
  step constant bigint := 32;
  at_place bigint;
begin
  if not retention_begins('publish_keys', age, '7 days') then
    return result;
  end if;
  select r.place into at_place from retention r where r.chore = 'publish_keys';
  with free as materialized (
    select k.event_type, k.key from publish_key k
    where k.ctid >= format('(%s,0)', at_place)::tid and k.ctid < format('(%s,0)', at_place + step)::tid and k.created_at < now() - age
      and coalesce((select false from event e where e.id = k.event_id limit 1), true)
      and coalesce((select false from job_live l where l.event_id = k.event_id limit 1), true)
      and coalesce((select false from job_live l where l.id = k.event_id limit 1), true)
      and coalesce((select false from job_failed f where f.event_id = k.event_id limit 1), true)
      and coalesce((select false from job_failed f where f.id = k.event_id limit 1), true)
    limit most for update skip locked
  )
  delete from publish_key k using free f where k.event_type = f.event_type and k.key = f.key;
  get diagnostics result.gone = row_count;
  at_place := retention_place('publish_key', at_place, step, result.gone >= most);
  result.more := at_place > 0 or result.gone >= most;
  perform retention_ends('publish_keys', result, '1 day', at_place);
  return result;
end $$;

revoke execute on function
  retention_name(regclass), retention_partitions(text), retention_backfill(), retention_begins(text, interval, interval),
  retention_ends(text, pruned, interval, bigint), retention_place(regclass, bigint, bigint, boolean),
  retention_references(uuid, uuid, int), prune_succeeded(interval, int), prune_events(interval, int), prune_failed(interval, int),
  prune_attempts(interval, int), prune_inbox(interval, int), prune_publish_keys(interval, int)
from public;

insert into migration (version, name, compatible_from) values (12, '0012_retention', 8);
