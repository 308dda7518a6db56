-- Four roles with the least that each needs, on the tables in the first schema of `search_path`. Optional, applied by the tables'
-- owner, and again behind each migration: every run takes back what the roles hold here and grants it anew, in one transaction.
-- `roles/psql.sql` runs it from psql, `outbox::Roles` from a program. The setting `outbox.role_prefix` names the roles; 'outbox' else.
--
-- An application's login role is made a member: `grant outbox_publisher to shop_web`. Roles belong to the whole server, so one that is
-- granted here for two schemas may use both; another prefix keeps them apart.
--
--   publisher  publishes and enqueues. Writes events and jobs and reads neither.
--   worker     runs the engine: all that a publisher may, and reads events. Alters no table, and removes no history but what has ended
--              and is older than the least age of its kind.
--   reader     looks at states, counts, attempts and errors. No payloads, and nothing else that an application wrote into a message.
--   admin      reads everything; redrives, cancels, retires, activates; runs, pauses and resumes schedules.
do $$
declare
  prefix text := coalesce(nullif(current_setting('outbox.role_prefix', true), ''), 'outbox');
  names  text[] := array['publisher', 'worker', 'reader', 'admin'];
  found_version int;
  name   text;
  it     record;
begin
  -- A longer name would be cut short by the server: all four to the same one, which then may do what the admin may.
  if prefix !~ '^[a-z_][a-z0-9_]{0,49}$' then
    raise exception '% cannot begin the names of roles', prefix using errcode = 'invalid_name',
      hint = 'a lower-case letter or _, then letters, digits and _, at most 50 in all';
  end if;

  -- Who else changes these tables' entries in the catalogue (migrate, another run of this, new partitions) waits, or one would fail
  -- the other: "tuple concurrently updated".
  perform pg_advisory_xact_lock(hashtextextended('outbox migrate ' || current_schema(), 0));
  perform pg_advisory_xact_lock(hashtextextended('outbox partitions ' || current_schema(), 0));

  if to_regclass('migration') is null then
    raise exception 'the schema % has no outbox tables', coalesce(current_schema(), '(none)')
      using errcode = 'undefined_table', hint = 'run outbox::migrate, or the files of migrations/, first';
  end if;
  select max(version) into found_version from migration;
  if found_version < 18 then
    raise exception 'the tables in % are at version %, and the roles need version 18', current_schema(), found_version
      using errcode = 'undefined_table', hint = 'run outbox::migrate, or the files of migrations/, first';
  end if;
  select c.relowner::regrole::text as owner, pg_has_role(current_user, c.relowner, 'usage') as ok into it
  from pg_class c where c.oid = to_regclass('migration');
  if not it.ok then
    raise exception '% may not grant on the tables in %, which belong to %', current_user, current_schema(), it.owner
      using errcode = 'insufficient_privilege', hint = format('run this as %s, or as a member of it', it.owner);
  end if;

  foreach name in array names loop
    name := prefix || '_' || name;
    if to_regrole(quote_ident(name)) is null then
      begin
        execute format('create role %I nologin', name);
      exception
        when duplicate_object or unique_violation then
          null;   -- made at this moment, by somebody who does the same in another database
        when insufficient_privilege then
          raise exception 'the role % does not exist, and % may not create roles', name, current_user
            using errcode = 'insufficient_privilege',
                  hint = format('have an administrator run: create role %I nologin; then run this again', name);
      end;
    end if;
    execute format('revoke all on all tables in schema %I from %I', current_schema(), name);
    execute format('revoke all on all sequences in schema %I from %I', current_schema(), name);
    execute format('revoke all on all functions in schema %I from %I', current_schema(), name);
    execute format('revoke all on schema %I from %I', current_schema(), name);
    execute format('grant usage on schema %I to %I', current_schema(), name);
  end loop;

  -- On a partitioned table the right stands on the parent, and holds for what goes through it; partitions to come need none.
  for it in
    with shown (relation, columns) as (values
      ('event', 'id, occurred_at, xid, event_version, event_type, subject_type'),
      ('job',   'id, event_id, claim_id, locked_by, available_at, created_at, locked_at, completed_at, ordering_no, payload_version, '
                'attempts, max_attempts, crashes, priority, status, job_type, reason, last_error'),
      ('quarantine', 'id, event_id, first_at, last_at, times, event_version, source, class, reason, event_type')
    ),
    jobs (relation) as (values ('job'), ('job_live'), ('job_succeeded'), ('job_failed')),
    publishing (privilege, target) as (values
      ('select', 'migration'),
      ('select', 'subscription'),
      ('select', 'catalogue'),
      ('select', 'sequence catalogue_fence'),
      -- Only the columns that publish writes: the time, the transaction's number and the state are the database's to say.
      ('insert (id, event_type, event_version, subject_type, subject_id, payload, metadata)', 'event'),
      ('insert (id, event_id, job_type, payload_version, payload, metadata, max_attempts, priority, available_at)', 'job_live'),
      -- A duplicate key answers the first id. UPDATE changes nothing, see 0009.
      ('insert (event_type, key, event_id), select (event_type, key, event_id), update (event_id)', 'publish_key')
    ),
    looking (privilege, target) as (
      values ('select', 'migration'), ('select', 'subscription'), ('select', 'worker'), ('select', 'attempt'), ('select', 'schedule'), ('select', 'lease')
      union all select format('select (%s)', columns), relation from shown where relation in ('event', 'quarantine')
      union all select format('select (%s)', s.columns), j.relation from jobs j join shown s on s.relation = 'job'
    )
    select 'publisher' as role, * from publishing
    union all select 'reader', * from looking
    union all select 'worker', * from publishing
    union all select 'worker', * from looking where target in ('job', 'job_succeeded', 'job_failed')
    union all values
      ('worker', 'select', 'event'),
      ('worker', 'select, insert, update, delete', 'job_live'),
      -- An event that comes over a broker occurred where it was published.
      ('worker', 'insert (occurred_at)', 'event'),
      ('worker', 'select, insert, update, delete', 'quarantine'),
      ('worker', 'insert', 'job_succeeded'),
      ('worker', 'insert', 'job_failed'),
      ('worker', 'insert', 'attempt'),
      ('worker', 'select, insert', 'inbox'),
      ('worker', 'select, insert, update, delete', 'worker'),
      -- Everything that a declaration or a backfill writes. Retiring is for the admin.
      ('worker', 'insert, delete, update (source, kind, aliases, any_version, max_attempts, priority, parks, ordered, activated_at, '
                 'activation_snapshot, barrier_xid, barrier_holders, backfilled_to, backfilled_at)', 'subscription'),
      ('worker', 'update', 'sequence catalogue_fence'),
      ('worker', 'select, insert, update, delete', 'schedule'),
      ('worker', 'select, insert, update', 'lease'),
      -- What was erased is not replayed.
      ('worker', 'select (event_id)', 'erasure'),
      ('worker', 'execute', 'function schedule_is_busy(text)'),
      ('worker', 'execute', 'function run_schedule(text, uuid)'),
      ('worker', 'execute', 'function ensure_partitions(interval)'),
      ('worker', 'execute', 'function prune_succeeded(interval, int)'),
      ('worker', 'execute', 'function prune_events(interval, int)'),
      ('worker', 'execute', 'function prune_failed(interval, int)'),
      ('worker', 'execute', 'function prune_attempts(interval, int)'),
      ('worker', 'execute', 'function prune_inbox(interval, int)'),
      ('worker', 'execute', 'function prune_publish_keys(interval, int)'),
      ('admin', 'update (retired_at, activated_at, activation_snapshot, barrier_xid, barrier_holders, backfilled_to, backfilled_at)',
                'subscription'),
      ('admin', 'update (paused_at, next_tick)', 'schedule'),
      -- To end one whose owner does not.
      ('admin', 'update (holder, expires_at)', 'lease'),
      -- To discard. What is redriven becomes an event, which takes a worker's rights.
      ('admin', 'delete', 'quarantine'),
      ('admin', 'execute', 'function run_schedule(text, uuid)'),
      ('admin', 'execute', 'function redrive(uuid, boolean)'),
      ('admin', 'execute', 'function resolve(uuid, boolean)'),
      ('admin', 'execute', 'function cancel(uuid, text)')
    -- Who may delete rows may take any lock; this adds vacuum, which before PostgreSQL 17 is for the owner alone.
    union all select 'worker', 'maintain', 'job_live' where current_setting('server_version_num')::int >= 170000
    union all select 'admin', 'select', relation
    from unnest(array['migration', 'subscription', 'catalogue', 'worker', 'attempt', 'event', 'erasure', 'job', 'job_live', 'job_succeeded',
                      'job_failed', 'publish_key', 'inbox', 'retention', 'schedule', 'lease', 'quarantine', 'sequence catalogue_fence']) as t (relation)
  loop
    execute format('grant %s on %s to %I', it.privilege, it.target, prefix || '_' || it.role);
  end loop;
end $$;
