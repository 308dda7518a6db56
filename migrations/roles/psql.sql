-- psql -v ON_ERROR_STOP=1 -v schema=system -v prefix=outbox -f migrations/roles/psql.sql "$DATABASE_URL"
-- Both variables can be left out.
\if :{?schema}
\else
  \set schema system
\endif
\if :{?prefix}
\else
  \set prefix outbox
\endif
-- Its statements answer nothing that anybody has to see.
\o /dev/null
begin;
set local search_path to :"schema", pg_temp;
select set_config('outbox.role_prefix', :'prefix', true) as granting_to;
\ir grant.sql
commit;
\o
