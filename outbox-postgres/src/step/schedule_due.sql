-- schedule_due: this process's schedules, the one that is due first in front, without those that are paused or over.
-- $1 names text[]   $2 most
select s.name, s.cadence, s.zone, s.catch_up, s.catch_up_most, s.seed, s.next_tick, statement_timestamp()
from :schema.schedule s
where s.name = any($1::text[]) and s.paused_at is null
  -- a client's calendar is shorter than the server's, and knows no infinity
  and s.next_tick between '0001-01-01 UTC' and '9999-12-31 UTC'
order by s.next_tick, s.name
limit $2::int
