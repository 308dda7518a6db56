-- vacuum_look: how many dead rows the live jobs' table has, and whether a vacuum of it may begin here.
-- $1 the table, as regclass
-- Answer: dead rows, live rows, vacuums so far, whether one is under way (it holds this lock until it ends, and everybody may see
-- locks), and whether this role may: as the table's or the database's owner, or from PostgreSQL 17 on by a grant.
select pg_stat_get_dead_tuples(c.oid), pg_stat_get_live_tuples(c.oid),
       pg_stat_get_vacuum_count(c.oid) + pg_stat_get_autovacuum_count(c.oid),
       exists (select from pg_locks l where l.relation = c.oid and l.granted and l.mode = 'ShareUpdateExclusiveLock'
               and l.database = d.oid),
       pg_has_role(c.relowner, 'usage') or pg_has_role(d.datdba, 'usage')
       or case when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'MAINTAIN') else false end
from pg_class c, pg_database d
where c.oid = $1::text::regclass and d.datname = current_database()
