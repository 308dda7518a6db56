-- users: who has an account, and what opens it.
create schema if not exists solopm;

create table if not exists solopm.users (
  id         bigint  generated always as identity primary key,
  username   text    not null unique check (username ~ '^[a-z][a-z0-9_]{0,38}$'),
  name       text    not null,
  email      text    not null,
  -- How the owner wants to hear of things: a mail for each, one a night, or none.
  email_mode text    not null default 'instant' check (email_mode in ('instant', 'daily_digest', 'none')),
  admin      boolean not null default false,
  deleted_at timestamptz
);

-- The text of a token is known to its owner alone; here is its hash.
create table if not exists solopm.tokens (
  id         bigint  generated always as identity primary key,
  user_id    bigint  not null references solopm.users on delete cascade,
  hash       bytea   not null unique,
  revoked_at timestamptz
);
create index if not exists tokens_user on solopm.tokens (user_id);
