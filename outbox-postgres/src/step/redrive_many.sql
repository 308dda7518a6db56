-- redrive_many: failed jobs begin a new life, or say why not; or say what would. Each is a redrive of its own.
-- $1 ids uuid[]   $2 by force   $3 whether they are redriven
-- Answer: what became of each, in order: redriven | parked (its effect's owner answers) | live (its event has a live job of this handler) | gone
-- Where it is only asked, the second one of an event and a handler would meet the job of the first.
select case
         when f.id is null then 'gone'
         when f.reason = 'unknown' then 'parked'
         when exists (select from :schema.job_live l where l.event_id = f.event_id and l.job_type = f.job_type) then 'live'
         when not $3::boolean then case when f.event_id is not null and f.place > 1 then 'live' else 'redriven' end
         when :schema.redrive(f.id, $2::boolean) then 'redriven'
         else 'gone'
       end
from unnest($1::uuid[]) with ordinality as u (id, n)
left join (
  select j.id, j.event_id, j.job_type, j.reason,
         row_number() over (partition by j.event_id, j.job_type, j.reason is not distinct from 'unknown' order by w.n) as place
  from unnest($1::uuid[]) with ordinality as w (id, n) join :schema.job_failed j on j.id = w.id
) f on f.id = u.id
order by u.n
