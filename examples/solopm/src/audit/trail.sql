select a.event_id, a.action_type, coalesce(u.name, a.actor) as actor, a.resource_type, a.resource_id, a.via_webhook,
       a.payload, a.occurred_at
from solopm.audit_log a
left join solopm.users u on u.id::text = a.actor
where a.project_id = $1
order by a.occurred_at desc, a.event_id desc
limit $2
