-- schedule_status: every schedule that a binary has declared, also those that none declares any more.
select s.name, s.cadence, s.zone, s.next_tick, s.last_tick, s.passed_over, s.paused_at, s.declared_by, s.declared_at, statement_timestamp(),
       s.catch_up, s.catch_up_most, s.overlap = 'allow'
from :schema.schedule s
where $1::text is null or s.name = $1::text
order by s.name
