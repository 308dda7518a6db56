-- Failed ones that are to be failed are among them: a reader knows them by their names.
select format('%s %s, %s, attempt %s of %s, %s crashes, available %s%s%s',
  j.id, j.job_type, j.status, j.attempts, j.max_attempts, j.crashes, j.available_at,
  coalesce(', held by ' || coalesce(w.name, j.locked_by::text) || ' since ' || j.locked_at, ''),
  coalesce(', last error: ' || left(j.last_error, 120), ''))
from system.job j left join system.worker w on w.id = j.locked_by
where j.status in ('pending', 'running', 'failed')
order by j.status desc, j.available_at
limit 100
