-- backfill_lock: second of the backfill: BEGIN, this, then (if ready) backfill_batch.sql, COMMIT. Alone in its statement, so
-- that the next one's snapshot is younger than the row lock and than the moment in which the barrier was seen to have passed.
-- $1 the catalogue's table, as regclass   $2 how many unfinished activations to pass over
-- No row: none is left, or another process is at it.
select s.handler, s.source,
       pg_snapshot_xmin(pg_current_snapshot()) >= s.barrier_xid
       and not exists (select from pg_locks l where l.relation = $1::text::regclass
                       and l.virtualtransaction = any(s.barrier_holders)) as ready
from :schema.subscription s
where s.kind = 'event' and s.retired_at is null and s.backfilled_at is null and s.barrier_xid is not null
order by s.barrier_xid, s.handler
offset $2::int limit 1
for no key update skip locked
