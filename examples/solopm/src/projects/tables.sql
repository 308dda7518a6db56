-- projects: what people work on, and who belongs to it.
create table if not exists solopm.projects (
  id          bigint generated always as identity primary key,
  title       text   not null check (title <> ''),
  description text   not null default '',
  status      text   not null default 'active' check (status in ('active', 'on_hold', 'finished')),
  next_issue  int    not null default 1
);

create table if not exists solopm.members (
  project_id bigint not null references solopm.projects on delete cascade,
  user_id    bigint not null references solopm.users on delete cascade,
  role       text   not null check (role in ('owner', 'member', 'viewer')),
  primary key (project_id, user_id)
);
create index if not exists members_user on solopm.members (user_id);

create table if not exists solopm.project_dependencies (
  project_id bigint not null references solopm.projects on delete cascade,
  depends_on bigint not null references solopm.projects on delete cascade check (depends_on <> project_id),
  primary key (project_id, depends_on)
);
create index if not exists project_dependencies_of on solopm.project_dependencies (depends_on);

create table if not exists solopm.labels (
  id         bigint generated always as identity primary key,
  project_id bigint not null references solopm.projects on delete cascade,
  name       text   not null check (name <> ''),
  unique (project_id, name)
);

create table if not exists solopm.epics (
  id         bigint generated always as identity primary key,
  project_id bigint not null references solopm.projects on delete cascade,
  title      text   not null check (title <> ''),
  status     text   not null default 'open' check (status in ('open', 'closed'))
);
create index if not exists epics_project on solopm.epics (project_id);
