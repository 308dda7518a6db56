create table webhook_migration (
  version         int         primary key,
  name            text        not null,
  compatible_from int,                              -- the oldest release, by its newest version, that works on it; null: its own
  applied_at      timestamptz not null default clock_timestamp()
)
