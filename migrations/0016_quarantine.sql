-- quarantine: messages that came over a broker and are no events here, kept for a person; see docs/adr/0028. Jobs of events that are
-- stored here never stand in it: those are `job_failed`.
--
-- One row a message, however often it is delivered: `digest` is made of what the message is, not of how it came.
create table quarantine (
  id            uuid        primary key,
  event_id      uuid,                                               -- null: it has none that is one
  first_at      timestamptz not null default statement_timestamp(),
  last_at       timestamptz not null default statement_timestamp(),
  times         bigint      not null default 1 check (times > 0),   -- how often it was delivered
  event_version int,
  source        text        not null,
  class         text        not null,
  reason        text        not null check (octet_length(reason) <= 8192),
  event_type    text,                                               -- as the message says it, be it a name or not
  digest        bytea       not null,
  headers       jsonb       not null,                               -- those whose names are on the list; null: a value that is no text
  body          bytea       not null,
  unique (source, digest)
);

insert into migration (version, name, compatible_from) values (16, '0016_quarantine', 8);
