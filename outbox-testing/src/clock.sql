-- A clock that stands still until it is moved, for one sandbox. `:clock.` is its schema, `:schema.` that of the outbox.
-- In sessions whose search_path has this schema in front of pg_catalog, an unqualified now() is this one.
create schema :clockname;
create table :clock.standing (at timestamptz not null);
insert into :clock.standing select pg_catalog.date_trunc('milliseconds', pg_catalog.now());

create function :clock.now() returns timestamptz language sql stable as 'select at from :clock.standing';
create function :clock.transaction_timestamp() returns timestamptz language sql stable as 'select at from :clock.standing';
create function :clock.statement_timestamp() returns timestamptz language sql stable as 'select at from :clock.standing';
create function :clock.clock_timestamp() returns timestamptz language sql volatile as 'select at from :clock.standing';

-- What was bound to the server's clock when the tables were made: defaults of columns, and functions with a search_path of their own.
do $$
declare
  it record;
begin
  for it in
    select d.adrelid::regclass as relation, a.attname, pg_get_expr(d.adbin, d.adrelid) as expression
    from pg_attrdef d
    join pg_class c on c.oid = d.adrelid
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where c.relnamespace = ':schemaname'::regnamespace
  loop
    if it.expression ~ '(now|transaction_timestamp|statement_timestamp|clock_timestamp)\(\)' then
      execute format('alter table only %s alter column %I set default %s', it.relation, it.attname,
        regexp_replace(it.expression, '(now|transaction_timestamp|statement_timestamp|clock_timestamp)\(\)', ':clock.\1()', 'g'));
    end if;
  end loop;
  for it in
    select p.oid::regprocedure as function from pg_proc p
    where p.pronamespace = ':schemaname'::regnamespace
      and exists (select from unnest(p.proconfig) as c where c like 'search\_path=%')
  loop
    execute format('alter function %s set search_path = :clockname, pg_catalog, :schemaname, pg_temp', it.function);
  end loop;
end $$;
