-- rescue_mark: first of two statements of a rescue, in one READ COMMITTED transaction: take expired workers, mark them dead.
-- A claim in flight holds its worker's row KEY SHARE, a renewal holds it too: both are skipped, and tried again next round.
-- $1 most workers at once
with expired as materialized (
  select id from :schema.worker
  where dead_at is null and expires_at < now()
  order by expires_at, id limit $1::int
  for update skip locked
)
update :schema.worker w set dead_at = now()
from expired e where w.id = e.id
returning w.id
