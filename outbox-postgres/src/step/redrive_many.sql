-- redrive_many: failed jobs begin a new life, or say why not; or say what would. Each is a redrive of its own.
-- $1 ids uuid[]   $2 by force   $3 whether they are redriven
-- Answer: what became of each, in order: redriven | parked (its effect's owner answers) | live (its event has a live job of this handler) | gone
select case
         when f.id is null then 'gone'
         when f.reason = 'unknown' then 'parked'
         when exists (select from :schema.job_live l where l.event_id = f.event_id and l.job_type = f.job_type) then 'live'
         when not $3::boolean then 'redriven'
         when :schema.redrive(f.id, $2::boolean) then 'redriven'
         else 'gone'
       end
from unnest($1::uuid[]) with ordinality as u (id, n)
left join :schema.job_failed f on f.id = u.id
order by u.n
