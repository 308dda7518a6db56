-- backfill_fence: before the barrier and in a statement before it: a publisher above READ COMMITTED with an older snapshot
-- is refused from now on; one that has read the fence already holds the catalogue's lock, so the barrier, taken next, sees it.
-- Run behind an advisory transaction lock of the catalogue: read and set are two steps, and the value must never go back.
select setval($1::text::regclass, greatest((select last_value from :schema.catalogue_fence),
              pg_snapshot_xmax(pg_current_snapshot())::text::bigint))
