-- rescue_held: what dead workers hold, where it cannot be taken back in one statement. $1 workers uuid[]
select l.id from :schema.job_live l where l.status = 'running' and l.locked_by = any($1::uuid[]) order by l.id
