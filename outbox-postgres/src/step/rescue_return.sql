-- rescue_return: second of them: return or fail what the dead workers held. A statement of its own, because its snapshot has
-- to be younger than the locks of the first one, or it misses a claim that committed between that one's snapshot and its lock.
-- $1 workers uuid[], marked in this transaction   $2 crash limit   $3 jobs uuid[]: of these only; null: all
-- What a handler held that parks what is unknown is parked, whatever its counters.
-- The crash counts; the attempt was counted at the claim. It is given back where its guilt is in doubt: the job had crashed before, and
-- so had another one that the same worker held. Answer: id, job_type, what it ended as, or null.
with
-- one scan of the live rows; the rest by place, which cannot change while we hold the locks
held as materialized (
  select l.ctid as tid, l.id, l.claim_id, l.locked_by, l.locked_at, l.attempts, l.max_attempts, l.crashes, l.job_type
  from :schema.job_live l
  where l.status = 'running' and l.locked_by = any($1::uuid[])
  -- a row that somebody has locked (a transaction about to commit, a person at a prompt) must not keep the others waiting: it
  -- is taken by a later round, because the worker's row stays until it holds nothing
  and ($3::uuid[] is null or l.id = any($3::uuid[]))
  for update skip locked
),
doubted as materialized (
  select h.*, h.crashes > 0 and count(*) filter (where h.crashes > 0) over (partition by h.locked_by) > 1 as in_doubt,
         exists (select from :schema.subscription s where s.parks and (s.handler = h.job_type or h.job_type = any(s.aliases))) as parks
  from held h
),
judged as materialized (
  select d.*, d.parks or d.crashes + 1 >= $2::int or (d.attempts >= d.max_attempts and not d.in_doubt) as ends from doubted d
),
gone as (
  delete from :schema.job_live l
  where l.ctid = any(array(select tid from judged where ends))
  returning l.id, l.event_id, l.claim_id, l.locked_by, l.available_at, l.created_at, l.locked_at, l.payload_version, l.attempts,
            l.max_attempts, l.crashes, l.priority, l.job_type, l.ordering_key, l.ordering_no, l.last_error, l.payload, l.metadata
),
failed as (
  insert into :schema.job_failed
    (id, event_id, locked_by, available_at, created_at, locked_at, completed_at, payload_version, attempts, max_attempts,
     crashes, priority, status, job_type, ordering_key, ordering_no, reason, last_error, payload, metadata)
  select id, event_id, locked_by, available_at, created_at, locked_at, now(), payload_version, attempts, max_attempts,
         crashes + 1, priority, 'failed', job_type, ordering_key, ordering_no,
         case when j.parks then 'unknown' else 'crashed' end,
         case when j.parks then 'its worker died while it ran: whether its effect took place is not known'
              else 'its worker died while it ran' end, payload, metadata
  from gone cross join lateral (select d.parks from judged d where d.id = gone.id) j
  returning id, job_type, reason
),
back as (
  update :schema.job_live l
  set status = 'pending', claim_id = null, locked_by = null, locked_at = null, crashes = l.crashes + 1, available_at = now(),
      attempts = l.attempts - (select j.in_doubt::int from judged j where j.id = l.id)
  where l.ctid = any(array(select tid from judged where not ends))
  returning l.id, l.job_type
),
history as (
  insert into :schema.attempt (job_id, claim_id, worker_id, started_at, attempt, outcome, error)
  select id, claim_id, locked_by, coalesce(locked_at, now()), attempts, 'crashed', 'its worker died while it ran' from held
)
select id, job_type, reason as ended from failed union all select id, job_type, null from back
