-- from_ulid judges a text before it is upper-cased: `upper` makes an S of a long s (U+017F), which no program takes for one.
-- Compatible with 8, whose binaries never call it.
create or replace function from_ulid(ulid text) returns uuid
language plpgsql immutable strict parallel safe set search_path from current as $$
declare
  bits text;
begin
  if ulid !~ '^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$' then
    raise exception '% is no ULID: expected 26 characters of 0-9 and A-Z without I, L, O and U', ulid
      using errcode = 'invalid_text_representation';
  end if;
  select string_agg((position(c in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1)::bit(5)::text, '' order by n) into bits
  from regexp_split_to_table(upper(ulid), '') with ordinality as r (c, n);
  return (lpad(to_hex(substr(bits, 3, 64)::bit(64)::bigint), 16, '0') || lpad(to_hex(substr(bits, 67, 64)::bit(64)::bigint), 16, '0'))::uuid;
end $$;

insert into migration (version, name, compatible_from) values (11, '0011_from_ulid_is_ascii', 8);
