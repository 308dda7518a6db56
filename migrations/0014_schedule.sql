-- schedule: what is due when, and how far it has come. One row a schedule, written by the binaries that link it; see docs/adr/0017.
--
-- A tick becomes one job in the statement that moves the row from that tick to the next one. The row is the unique key of every tick that
-- ever was, however long ago: neither next_tick nor last_tick ever goes back, and no retention removes it.
create table schedule (
  name          text        primary key,                          -- stored name, which is the job_type of its jobs
  aliases       text[]      not null default '{}',
  cadence       text        not null,                             -- a cron line, or 'every 5m'
  zone          text        not null,
  catch_up      text        not null,                             -- skip | latest | all
  catch_up_most int         not null check (catch_up_most > 0),
  overlap       text        not null,                             -- skip | allow
  max_attempts  int         not null check (max_attempts > 0),
  priority      smallint    not null check (priority between 0 and 3),
  next_tick     timestamptz,                                      -- the one that is due next; null: there is none any more
  last_tick     timestamptz,                                      -- the newest one that has a job
  passed_over   bigint      not null default 0,                   -- ticks, or rows of them, that have none: missed, or the former run had not ended
  paused_at     timestamptz,
  seed          uuid        not null default gen_random_uuid(),   -- of the ids of its jobs
  declared_by   text        not null,                             -- the worker that said so last
  declared_at   timestamptz not null default statement_timestamp()
);

-- Whether a run of the schedule has not ended: a job of it, under whatever name, is pending or running.
create function schedule_is_busy(target text) returns boolean
language sql stable set search_path from current set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  select coalesce(bool_or(coalesce((
    select true from job_live l where l.job_type = n.job_type
    -- In the order of the claim's index, so that no other is read through for a name that has no job.
    order by l.job_type, l.payload_version, l.priority, l.available_at, l.id limit 1), false)), false)
  from schedule s cross join lateral unnest(s.aliases || s.name) as n (job_type)
  where s.name = target
$$;

-- run_schedule: one run now, apart from the ticks, also of a schedule that is paused. Answers 'run', 'busy' (a run has not ended, and two
-- at once are not allowed) or 'unknown'. SECURITY DEFINER as redrive is: an operator needs no right to write jobs.
create function run_schedule(target text, job_id uuid default gen_random_uuid()) returns text
language plpgsql security definer set search_path from current as $$
declare
  it schedule%rowtype;
begin
  -- FOR UPDATE: no tick is taken meanwhile.
  select s.* into it from schedule s where s.name = target for update;
  if it.name is null then
    return 'unknown';
  end if;
  if it.overlap <> 'allow' and schedule_is_busy(target) then
    return 'busy';
  end if;
  insert into job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority)
  values (job_id, it.name, 1, jsonb_build_object('at', date_trunc('milliseconds', clock_timestamp()), 'zone', it.zone, 'by_hand', true), '{}',
          it.max_attempts, it.priority);
  return 'run';
end $$;
revoke execute on function schedule_is_busy(text), run_schedule(text, uuid) from public;

insert into migration (version, name, compatible_from) values (14, '0014_schedule', 8);
