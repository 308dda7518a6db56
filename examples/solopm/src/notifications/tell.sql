insert into solopm.notifications
  (user_id, kind, resource_type, resource_id, event_id, project_id, headline, delivery)
select u.id, $1, $2, $3, $4, $5, $6, u.email_mode
from solopm.users u
where (u.id = any($7) or u.username = any($8))
  and u.id is distinct from $9
  and u.deleted_at is null
  and ($10 or exists (select from solopm.members m where m.project_id = $5 and m.user_id = u.id))
on conflict (user_id, kind, resource_type, resource_id, event_id) do nothing
returning id, delivery
