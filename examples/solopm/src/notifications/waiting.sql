select id, headline
from solopm.notifications
where user_id = $1 and mailed_at is null and delivery = 'daily_digest'
order by id
for no key update
