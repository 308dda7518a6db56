-- wiki: the pages of a project.
create table if not exists solopm.pages (
  id         bigint generated always as identity primary key,
  project_id bigint not null references solopm.projects on delete cascade,
  slug       text   not null check (slug ~ '^[a-z0-9-]+$'),
  title      text   not null check (title <> ''),
  body       text   not null default '',
  unique (project_id, slug)
);
