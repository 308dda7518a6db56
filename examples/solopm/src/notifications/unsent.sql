select u.name, u.email, n.headline
from solopm.notifications n
join solopm.users u on u.id = n.user_id
where n.id = $1 and n.mailed_at is null and u.deleted_at is null
