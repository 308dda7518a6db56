-- live_open: before the first read of a live stream: since when some transaction may have been open, in milliseconds of the server's
-- clock. In a statement before it, so that whoever the first read finds open is among these, or began later.
-- What this role may not look at counts as open for an hour, and so does what had begun when somebody prepared it for a later commit.
select floor(extract(epoch from least(
         statement_timestamp(),
         (select min(case when a.query = '<insufficient privilege>' then statement_timestamp() - interval '1 hour' else a.xact_start end)
          from pg_stat_activity a
          where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type is distinct from 'autovacuum worker'),
         (select min(p.prepared) - interval '1 hour' from pg_prepared_xacts p where p.database = current_database())
       )) * 1000)::bigint
