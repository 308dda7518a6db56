select u.id, u.username, u.name, u.email, u.email_mode, u.admin
from solopm.tokens t
join solopm.users u on u.id = t.user_id
where t.hash = sha256($1) and t.revoked_at is null and u.deleted_at is null
