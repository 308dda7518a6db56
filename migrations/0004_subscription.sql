-- subscription: what linked binaries have declared. Read by every publish, so it stays small; written only when it changes.
create table subscription (
  handler             text        primary key,        -- stored name, which is the job_type of its jobs
  source              text        not null,           -- an event pattern ('order.placed', 'order.*', '*') or a job's name, compared whole
  kind                text        not null check (kind in ('event', 'job', 'in_transaction', 'relay')),
  aliases             text[]      not null default '{}',
  any_version         boolean     not null default false,
  max_attempts        int         not null check (max_attempts > 0),
  priority            smallint    not null check (priority between 0 and 3),
  ordered             boolean     not null default false,
  retired_at          timestamptz,
  activated_at        timestamptz not null default statement_timestamp(),
  activation_snapshot pg_snapshot not null default pg_current_snapshot(),
  -- Backfill's progress, written after the activation has committed.
  barrier_xid         xid8,
  barrier_holders     text[],
  backfilled_to       uuid,
  backfilled_at       timestamptz
);
create index subscription_source on subscription (source);

-- The xid below which a snapshot may lack an activation. A sequence, because its value is read outside of any snapshot.
create sequence catalogue_fence minvalue 0 start 0;

insert into migration (version, name) values (4, '0004_subscription');
