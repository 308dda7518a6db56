-- comments: what is said about an issue.
create table if not exists solopm.comments (
  id        bigint      generated always as identity primary key,
  issue_id  bigint      not null references solopm.issues on delete cascade,
  author_id bigint      references solopm.users,
  body      text        not null check (body <> ''),
  resolved  boolean     not null default false,
  said_at   timestamptz not null default now()
);
create index if not exists comments_issue on solopm.comments (issue_id);
