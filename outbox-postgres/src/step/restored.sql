-- restored: an unfinished backfill whose numbers of transactions this cluster has not reached begins anew.
update :schema.subscription s
set barrier_xid = null, barrier_holders = null, activation_snapshot = pg_current_snapshot(), activated_at = statement_timestamp()
where s.backfilled_at is null and s.retired_at is null
  and greatest(s.barrier_xid, pg_snapshot_xmax(s.activation_snapshot)) > pg_snapshot_xmax(pg_current_snapshot())
