-- hooks: where other services tell of things, and what they have told.
create table if not exists solopm.hooks (
  id         uuid   primary key default gen_random_uuid(),
  project_id bigint not null references solopm.projects on delete cascade,
  source     text   not null check (source ~ '^[a-z][a-z0-9-]{0,38}$'),
  -- As it is, because a signature is checked with it.
  secret     text   not null
);
create index if not exists hooks_project on solopm.hooks (project_id);

-- What came, under the sender's id of it: one that comes again is known.
create table if not exists solopm.hook_messages (
  hook_id     uuid        not null references solopm.hooks on delete cascade,
  message_id  text        not null,
  received_at timestamptz not null default now(),
  body        text        not null,
  primary key (hook_id, message_id)
);
