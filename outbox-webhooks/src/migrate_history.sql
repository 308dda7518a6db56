create table webhook_migration (
  version    int         primary key,
  name       text        not null,
  applied_at timestamptz not null default clock_timestamp()
)
