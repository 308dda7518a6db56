-- catalogue: which edition of `subscription` this is. Whoever changes what a publish reads of it makes another one, in the same
-- transaction; so a publisher that knows an edition compares one value instead of reading the subscribers. See docs/adr/0033.
-- A random one and not a number: a database that was restored, or a replica that took over, counts from an earlier value again.
create table catalogue (
  one     boolean primary key default true check (one),
  edition uuid    not null default gen_random_uuid()
);
insert into catalogue default values;

-- SECURITY DEFINER: a declaration needs no right on this table, so binaries and roles from before it go on as they are.
create function catalogue_changes() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  update catalogue set edition = gen_random_uuid();
  return null;
end $$;
revoke execute on function catalogue_changes() from public;

create trigger catalogue_grows after insert or delete on subscription
  for each row execute function catalogue_changes();
create trigger catalogue_is_emptied after truncate on subscription
  for each statement execute function catalogue_changes();
-- Not what a backfill notes of its progress, and not a declaration that says again what is there.
create trigger catalogue_differs after update on subscription
  for each row
  when ((old.handler, old.source, old.kind, old.aliases, old.any_version, old.max_attempts, old.priority, old.retired_at is null)
        is distinct from
        (new.handler, new.source, new.kind, new.aliases, new.any_version, new.max_attempts, new.priority, new.retired_at is null))
  execute function catalogue_changes();
-- Also where rows come by replication.
alter table subscription enable always trigger catalogue_grows;
alter table subscription enable always trigger catalogue_is_emptied;
alter table subscription enable always trigger catalogue_differs;

-- For everybody who may use the schema: it says nothing, and a `roles/grant.sql` of an earlier release, run behind this one, does not take it
-- from publishers of this one.
grant select on catalogue to public;

-- 15 forgot to say that it takes nothing from the binaries before it, so that they refused to start on these tables.
update migration set compatible_from = 8 where version = 15;

insert into migration (version, name, compatible_from) values (18, '0018_catalogue', 8);
