-- Keys live in tables of their own, with a retention of their own, longer than the longest replay.

-- One publish (or enqueue) a key: a business transaction that is retried does not publish twice.
create table publish_key (
  event_type text        not null,   -- 'job:' and the name for a job
  key        text        not null,
  event_id   uuid        not null,
  created_at timestamptz not null default statement_timestamp(),
  primary key (event_type, key)
) with (fillfactor = 80);

-- One effect a (handler, event): written in the transaction of the effect.
create table inbox (
  handler    text        not null,   -- the handler's original stored name: a rename does not run it again
  key        uuid        not null,   -- the event's id, or the job's for a job without event
  created_at timestamptz not null default statement_timestamp(),
  primary key (handler, key)
);

insert into migration (version, name) values (5, '0005_keys');
