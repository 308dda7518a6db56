update :schema.webhook_delivery d set job_id = u.job_id
from unnest($1::uuid[], $2::uuid[]) u (id, job_id) where d.id = u.id
