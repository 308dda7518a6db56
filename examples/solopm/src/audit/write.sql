insert into solopm.audit_log
  (event_id, action_type, actor, project_id, resource_type, resource_id, via_webhook, payload, occurred_at)
values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9)
