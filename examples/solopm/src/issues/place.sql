update solopm.issues
set rank = $3, epic_id = $4, parent_id = $5
where id = $1
  and ($4 is null or exists (select from solopm.epics where id = $4 and project_id = $2))
  and ($5 is null or exists (select from solopm.issues parent where parent.id = $5 and parent.project_id = $2))
