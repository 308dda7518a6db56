-- recover: a slow look for jobs that stand as held by this worker, and of which it knows nothing: the answer to a claim was
-- lost, or a settle's was. In chunks by primary key, so that no statement is long.
-- $1 worker uuid   $2 the last id looked at, or null   $3 most rows looked at
-- Answer: always one row: the last id looked at (null: the end), the held jobs of this chunk with their claims, and workers
-- that hold something in it and have no row, because somebody deleted it.
with chunk as materialized (
  select l.id, l.claim_id, l.locked_by, l.status from :schema.job_live l
  where l.id > coalesce($2::uuid, '00000000-0000-0000-0000-000000000000')
  order by l.id limit $3::int
)
select (select c.id from chunk c order by c.id desc offset 0 limit case when (select count(*) from chunk) < $3::int then 0 else 1 end) as last,
       coalesce(array_agg(c.id) filter (where c.status = 'running' and c.locked_by = $1::uuid), '{}') as ids,
       coalesce(array_agg(c.claim_id) filter (where c.status = 'running' and c.locked_by = $1::uuid), '{}') as claims,
       coalesce(array_agg(distinct c.locked_by) filter (where c.status = 'running' and w.id is null), '{}') as rowless
from chunk c left join :schema.worker w on w.id = c.locked_by
