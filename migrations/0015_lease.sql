-- lease: at most one owner of a name at a time, across all processes; see docs/adr/0024.
--
-- The token grows with every owner and never goes back, so rows stay: a lease is a name in somebody's code, and there are few.
create table lease (
  name       text        primary key check (octet_length(name) between 1 and 200),
  token      bigint      not null default 1 check (token > 0),
  holder     text,                                                  -- null: given back
  taken_at   timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null
) with (fillfactor = 20);

insert into migration (version, name) values (15, '0015_lease');
