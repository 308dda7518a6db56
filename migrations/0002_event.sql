-- event: the append-only log of what happened. Delivery state never lives here.
-- Fixed-width columns first: no alignment holes in front of the variable ones.
create table event (
  id            uuid        not null,
  occurred_at   timestamptz not null default statement_timestamp(),
  xid           xid8        not null default pg_current_xact_id(),  -- the top-level xid, also inside a savepoint
  event_version int         not null,
  event_type    text        not null,
  subject_type  text        not null,
  subject_id    text,                                               -- null: the event names no subject
  payload       jsonb       not null,
  metadata      jsonb       not null default '{}',
  primary key (id)
) partition by range (id);

-- Foreign or skewed ids land here; a missing partition must never stop a publish.
create table event_default partition of event default;

-- Only the owner's functions that say so may erase or move rows. Both halves are needed: the setting alone is anybody's,
-- and the owner's own slip at a prompt is what this is here to catch.
create function event_is_append_only() returns trigger
language plpgsql set search_path from current as $$
begin
  if coalesce(current_setting('outbox.owner_work', true), '') = 'on'
     and current_user = (select pg_get_userbyid(relowner) from pg_class where oid = tg_relid) then
    return case when tg_op = 'DELETE' then old else new end;   -- ignored by a statement trigger
  end if;
  raise exception 'event is append-only: % refused', tg_op using errcode = 'restrict_violation',
    hint = 'personal data is removed by the function erase_event(id, reason); old events leave by retention';
end $$;

-- Row triggers of a partitioned table are cloned to its partitions, also to those attached later ...
create trigger append_only before update or delete on event
  for each row execute function event_is_append_only();
-- ... statement triggers are not: each partition needs its own, or TRUNCATE of that partition passes.
create trigger append_only_truncate before truncate on event
  for each statement execute function event_is_append_only();
create trigger append_only_truncate before truncate on event_default
  for each statement execute function event_is_append_only();

-- Removing personal data: who, when and why stay on record, the event stays with an empty payload.
create table erasure (
  event_id  uuid        not null,
  erased_at timestamptz not null default clock_timestamp(),
  erased_by text        not null,
  reason    text        not null check (reason <> '')
);

-- Not SECURITY DEFINER: only a member of the owner may run it.
-- The setting is made in the body: in the head it would take a superuser to create the function.
create function erase_event(target uuid, why text) returns boolean
language plpgsql set search_path from current as $$
declare
  erased boolean;
begin
  perform set_config('outbox.owner_work', 'on', true);
  update event set payload = '{}', metadata = '{}', subject_id = null where id = target;
  erased := found;
  perform set_config('outbox.owner_work', 'off', true);
  if not erased then
    return false;
  end if;
  insert into erasure (event_id, erased_by, reason) values (target, session_user, why);
  return true;
end $$;
revoke execute on function erase_event(uuid, text) from public;

insert into migration (version, name) values (2, '0002_event');
