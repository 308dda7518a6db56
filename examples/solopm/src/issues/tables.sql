-- issues: the work, and what hangs on it.
create table if not exists solopm.issues (
  id          bigint generated always as identity primary key,
  project_id  bigint not null references solopm.projects on delete cascade,
  number      int    not null,
  title       text   not null check (title <> ''),
  description text   not null default '',
  status      text   not null default 'todo' check (status in ('todo', 'doing', 'done')),
  -- Its place among those of the same status; free numbers lie between.
  rank        bigint not null,
  epic_id     bigint references solopm.epics on delete set null,
  parent_id   bigint references solopm.issues on delete set null check (parent_id <> id),
  reporter_id bigint references solopm.users,
  assignee_id bigint references solopm.users,
  unique (project_id, number)
);
create index if not exists issues_epic on solopm.issues (epic_id);
create index if not exists issues_parent on solopm.issues (parent_id);

create table if not exists solopm.issue_blockers (
  issue_id   bigint not null references solopm.issues on delete cascade,
  blocker_id bigint not null references solopm.issues on delete cascade check (blocker_id <> issue_id),
  primary key (issue_id, blocker_id)
);
create index if not exists issue_blockers_of on solopm.issue_blockers (blocker_id);

create table if not exists solopm.issue_labels (
  issue_id bigint not null references solopm.issues on delete cascade,
  label_id bigint not null references solopm.labels on delete cascade,
  primary key (issue_id, label_id)
);
create index if not exists issue_labels_of on solopm.issue_labels (label_id);

create table if not exists solopm.links (
  id       bigint generated always as identity primary key,
  issue_id bigint not null references solopm.issues on delete cascade,
  url      text   not null check (url ~ '^https?://'),
  unique (issue_id, url)
);

-- What was uploaded, once for each content. The cull removes what no attachment names any more.
create table if not exists solopm.blobs (
  hash        bytea       primary key,
  content     bytea       not null,
  uploaded_at timestamptz not null default now()
);

create table if not exists solopm.attachments (
  id        bigint generated always as identity primary key,
  issue_id  bigint not null references solopm.issues on delete cascade,
  file_name text   not null check (file_name <> ''),
  blob_hash bytea  not null references solopm.blobs
);
create index if not exists attachments_issue on solopm.attachments (issue_id);
create index if not exists attachments_blob on solopm.attachments (blob_hash);
