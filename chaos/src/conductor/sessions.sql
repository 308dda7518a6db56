-- The oldest transactions first: whoever holds up everybody else is one of those as a rule.
select format('%s %s, %s, %s%s%s: %s',
  pid, coalesce(nullif(application_name, ''), '(no name)'), state,
  coalesce('in a transaction for ' || date_trunc('milliseconds', clock_timestamp() - xact_start), 'in no transaction'),
  coalesce(', in this state for ' || date_trunc('milliseconds', clock_timestamp() - state_change), ''),
  case when cardinality(pg_blocking_pids(pid)) > 0 then ', waits for ' || pg_blocking_pids(pid)::text
       else coalesce(', ' || wait_event_type || ' ' || wait_event, '') end,
  regexp_replace(left(query, 160), '\s+', ' ', 'g'))
from pg_catalog.pg_stat_activity
where backend_type = 'client backend' and pid <> pg_backend_pid()
order by xact_start nulls last, pid
