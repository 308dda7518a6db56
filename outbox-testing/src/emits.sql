-- require_events: a deferred constraint trigger's function. At the commit of a transaction that wrote to a watched table it looks for an
-- event of that transaction. As its owner, because a publisher's role reads no events.
create or replace function :schema.transaction_publishes() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(current_setting('outbox.publishes_nothing', true), '') = ''
     and not exists (select from :schema.event where xid = pg_current_xact_id()) then
    raise exception 'this transaction has written to %.% (%) and published no event', tg_table_schema, tg_table_name, lower(tg_op)
      using hint = 'publish what happened in the same transaction; a write that is no event says why: '
                   'set local outbox.publishes_nothing = ''why''';
  end if;
  return null;
end $$
