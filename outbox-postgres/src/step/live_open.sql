-- live_open: before the first read of a live stream: since when some transaction may have been open, in milliseconds of the server's
-- clock. In a statement before it, so that whoever the first read finds open is among these, or began later.
-- What this role may not look at counts as open for an hour.
select floor(extract(epoch from least(
         statement_timestamp(),
         min(case when a.query = '<insufficient privilege>' then statement_timestamp() - interval '1 hour' else a.xact_start end)
       )) * 1000)::bigint
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type is distinct from 'autovacuum worker'
