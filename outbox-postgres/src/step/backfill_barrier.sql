-- backfill_barrier: first of the backfill: fixes once what has to end before the backfill can be complete. In a transaction
-- of its own, after the activation has committed. $1 the catalogue's table, as regclass
-- Two halves: transactions that had an xid (by number), and transactions that read the catalogue before they had one (each
-- statement that reads it holds ACCESS SHARE on it, from before its snapshot to the end of its transaction).
update :schema.subscription s
set barrier_xid = pg_snapshot_xmax(pg_current_snapshot()),
    barrier_holders = coalesce((select array_agg(distinct l.virtualtransaction) from pg_locks l
                                where l.relation = $1::text::regclass and l.mode = 'AccessShareLock'
                                  and l.database = (select oid from pg_database where datname = current_database())
                                  and l.pid <> pg_backend_pid()), '{}')
where s.kind = 'event' and s.retired_at is null and s.backfilled_at is null and s.barrier_xid is null
returning s.handler
