-- notifications: what somebody is to know, once.
create table if not exists solopm.notifications (
  id            bigint      generated always as identity primary key,
  user_id       bigint      not null references solopm.users on delete cascade,
  kind          text        not null,
  resource_type text        not null,
  resource_id   text        not null,
  event_id      uuid        not null,
  project_id    bigint,
  headline      text        not null,
  -- How its owner wanted to hear of it when it came, and when the mail that tells of it had left.
  delivery      text        not null check (delivery in ('instant', 'daily_digest', 'none')),
  mailed_at     timestamptz,
  created_at    timestamptz not null default now(),
  read_at       timestamptz,
  -- However often an event is looked at, nobody hears of it twice.
  unique (user_id, kind, resource_type, resource_id, event_id)
);
create index if not exists notifications_undelivered on solopm.notifications (user_id)
  where mailed_at is null and delivery = 'daily_digest';
