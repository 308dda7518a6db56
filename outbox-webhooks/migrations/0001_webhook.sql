-- webhooks: where events go, what went there, and what came of it. In the schema of the outbox's own tables.

-- An endpoint belongs to a tenant: a project, an account, whatever the application's events say.
create table webhook_endpoint (
  id               uuid        primary key,
  created_at       timestamptz not null default now(),
  failing_since    timestamptz,                      -- the first failure behind the last success; null: none
  disabled_at      timestamptz,
  tenant           text        not null,
  url              text        not null,
  description      text        not null default '',
  disabled_reason  text,
  event_types      text[]      not null default '{}' check (array_position(event_types, null) is null),  -- empty: all
  skip_via_webhook boolean     not null default false,
  check ((disabled_at is null) = (disabled_reason is null))
);
create index webhook_endpoint_tenant on webhook_endpoint (tenant);

-- As they are, because a signature needs them: whoever reads this table can sign in the sender's name.
create table webhook_secret (
  endpoint_id uuid        not null references webhook_endpoint on delete cascade,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz,                           -- null: the one of now
  secret      text        not null,
  primary key (endpoint_id, secret)
);
create unique index webhook_secret_current on webhook_secret (endpoint_id) where expires_at is null;

-- What is sent for an event, once for all its endpoints, so that each attempt sends the same bytes.
create table webhook_message (
  id          uuid        primary key,               -- the event's
  occurred_at timestamptz not null,
  event_type  text        not null,
  body        text        not null
);

create index webhook_message_occurred on webhook_message (occurred_at);

-- No status stands here: it is the job's, see webhook_delivery_log.
create table webhook_delivery (
  id           uuid        primary key,
  endpoint_id  uuid        not null references webhook_endpoint on delete cascade,
  event_id     uuid        not null references webhook_message,
  job_id       uuid,                                 -- of its present life; null only within the transaction that makes it
  created_at   timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  unique (endpoint_id, event_id)
) with (fillfactor = 80);
create index webhook_delivery_newest on webhook_delivery (endpoint_id, created_at);
create index webhook_delivery_event on webhook_delivery (event_id);
create index webhook_delivery_created on webhook_delivery (created_at);

-- Written before the call and completed behind it: one without an end is one whose process died, and may have arrived.
create table webhook_attempt (
  id          bigint      generated always as identity,
  delivery_id uuid        not null references webhook_delivery on delete cascade,
  job_id      uuid        not null,
  started_at  timestamptz not null default clock_timestamp(),
  ended_at    timestamptz,
  attempt     int         not null,                  -- the job's, counted from 1 again when it is redriven
  status      int,                                   -- of the HTTP answer, where there was one
  error       text,                                  -- null behind a success
  answer      text,                                  -- the beginning of what the receiver said
  primary key (delivery_id, id)
) with (fillfactor = 80);

-- What has been delivered says so. What has not is on its way while its job is, and has failed in every other case: exhausted, crashed,
-- cancelled, quarantined, or removed by age or by hand. So the log cannot say anything else than the jobs do.
create view webhook_delivery_log as
select d.id, d.endpoint_id, d.event_id, m.event_type, d.created_at, d.delivered_at, d.job_id,
       case when d.delivered_at is not null then 'delivered'
            when j.status in ('pending', 'running') then 'pending'
            else 'failed' end as status,
       case when d.delivered_at is null and j.status = 'pending' then j.available_at end as next_attempt_at,
       case when d.delivered_at is not null or j.status in ('pending', 'running') then null
            else coalesce(j.reason, 'gone') end as reason,
       coalesce(a.attempts, 0) as attempts,
       l.status as last_status,
       case when d.delivered_at is null then coalesce(l.error, j.last_error) end as last_error
from webhook_delivery d
join webhook_message m on m.id = d.event_id
left join job j on j.id = d.job_id and j.status in ('pending', 'running', 'failed')
left join lateral (select count(*) as attempts, max(t.id) as last_id from webhook_attempt t where t.delivery_id = d.id) a on true
left join webhook_attempt l on l.delivery_id = d.id and l.id = a.last_id;

insert into webhook_migration (version, name) values (1, '0001_webhook');
