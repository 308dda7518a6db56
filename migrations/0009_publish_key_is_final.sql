-- A publish key stays with the event or job that it was first given to. A duplicate's `on conflict do update` only locks the row and
-- writes it back as it is, and whoever may publish may do no more than that: taking a key away would publish twice.
-- Compatible with 8: no binary ever changed one.
create function publish_key_is_final() returns trigger
language plpgsql set search_path from current as $$
begin
  raise exception 'a publish key is final: % refused', tg_op using errcode = 'restrict_violation';
end $$;
create trigger final before update on publish_key for each row
  when (old.* is distinct from new.*) execute function publish_key_is_final();

insert into migration (version, name, compatible_from) values (9, '0009_publish_key_is_final', 8);
