-- The project's row is locked by taking its next number, so that no number is taken twice.
with numbered as (
  update solopm.projects set next_issue = next_issue + 1 where id = $1 returning next_issue - 1 as number
)
insert into solopm.issues (project_id, number, title, description, rank, reporter_id)
select $1, number, $2, $3, number * 1024, $4 from numbered
returning id, number, title, description, status, rank, epic_id, parent_id, reporter_id, assignee_id
