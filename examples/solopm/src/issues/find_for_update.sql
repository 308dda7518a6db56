select id, number, title, description, status, rank, epic_id, parent_id, reporter_id, assignee_id
from solopm.issues
where project_id = $1 and number = $2
for no key update
