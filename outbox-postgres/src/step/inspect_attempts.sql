-- inspect_attempts: the failed executions of one job, in order, those of its earlier lives too. $1 its id
select a.started_at, a.ended_at, a.attempt, a.outcome, a.error from :schema.attempt a where a.job_id = $1::uuid order by a.ended_at
