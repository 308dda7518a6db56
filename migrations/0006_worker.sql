-- worker: one row a running process. Its lease is the lease of every job that it holds.
create table worker (
  id         uuid        primary key,
  name       text        not null,
  ranges     text[]      not null,      -- what it claims: 'stored_name@payload_version'
  started_at timestamptz not null default statement_timestamp(),
  expires_at timestamptz not null,
  dead_at    timestamptz
) with (fillfactor = 20);

insert into migration (version, name) values (6, '0006_worker');
