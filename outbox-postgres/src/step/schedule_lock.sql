-- schedule_lock: the turn at one schedule, if it still stands where it was found. A statement of its own: the one behind it then sees what
-- whoever had the turn before has committed.
-- $1 name   $2 cadence, $3 zone: by which its next tick was computed   $4 the tick that was found due   $5 when it was found
select 1 from :schema.schedule s
where s.name = $1::text and s.cadence = $2::text and s.zone = $3::text and s.next_tick = $4::timestamptz and s.paused_at is null
  -- A process that stood still in between decides anew: its ticks may no longer be the ones that the policy means.
  and statement_timestamp() < $5::timestamptz + interval '10 s'
-- Whoever has it locked is at this tick.
for update skip locked
