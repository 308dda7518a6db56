-- notifications: which order was confirmed, and (in place of a mail provider) which letters were delivered.
create schema if not exists notifications;

-- The row is the answer to "was this order's confirmation already sent?", and its key is what two workers cannot both have.
create table if not exists notifications.sent_confirmation (
  order_id  text        primary key,
  recipient text        not null,
  sent_at   timestamptz not null default clock_timestamp()
);

-- The postbox stands for a provider outside: it is written on a connection of its own and knows nothing of our transactions.
create table if not exists notifications.postbox (
  idempotency_key text        primary key,
  order_id        text        not null,
  recipient       text        not null,
  subject         text        not null,
  requests        int         not null default 1,   -- how often it was asked to deliver this letter
  delivered_at    timestamptz not null default clock_timestamp()
);
