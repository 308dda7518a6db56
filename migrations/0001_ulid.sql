-- The history of this schema. Each file writes its own row, so that it is there also when the files are applied by hand;
-- `migrate` adds the checksum of the text that it applied.
create table migration (
  version         int         primary key,
  name            text        not null,
  applied_at      timestamptz not null default clock_timestamp(),
  compatible_from int,     -- the oldest binary, by the newest version that it knows, that works on this version too
  checksum        text     -- null: applied by hand
);

-- ULID helpers. Ids are stored as uuid (16 bytes, sorted by bytes as ULIDs are); ULID text exists only at the edge.

-- 26 characters of Crockford base32, out of 128 bits with two zero bits in front: `select ulid(id) from event`.
create function ulid(id uuid) returns text
language sql immutable strict parallel safe set search_path from current as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
           substring(b.bits from 5 * i + 1 for 5)::bit(5)::int + 1, 1), '' order by i)
  from (select b'00' || ('x' || replace(id::text, '-', ''))::bit(128) as bits) b,
       generate_series(0, 25) i
$$;

-- The stored id of a ULID as logs and programs show it: `select * from job where id = from_ulid('01M8..')`.
create function from_ulid(ulid text) returns uuid
language plpgsql immutable strict parallel safe set search_path from current as $$
declare
  bits text;
begin
  if upper(ulid) !~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' then
    raise exception '% is no ULID: expected 26 characters of 0-9 and A-Z without I, L, O and U', ulid
      using errcode = 'invalid_text_representation';
  end if;
  select string_agg((position(c in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1)::bit(5)::text, '' order by n) into bits
  from regexp_split_to_table(upper(ulid), '') with ordinality as r (c, n);
  return (lpad(to_hex(substr(bits, 3, 64)::bit(64)::bigint), 16, '0') || lpad(to_hex(substr(bits, 67, 64)::bit(64)::bigint), 16, '0'))::uuid;
end $$;

-- The smallest ULID of an instant: the bound of a partition of `event`.
create function ulid_floor(at timestamptz) returns uuid
language sql immutable strict parallel safe set search_path from current as $$
  select rpad(lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

insert into migration (version, name) values (1, '0001_ulid');
