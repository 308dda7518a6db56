select started_at, ended_at, attempt, status, error, answer from :schema.webhook_attempt where delivery_id = $1 order by id
