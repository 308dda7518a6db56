-- claim: due jobs become running, leased to this worker.
-- $1 worker uuid    $2 claim_id uuid, fresh, made by the client before it sends this
-- One range a stored name and version, in arrays of equal length:
-- $3 job_types text[]  $4 versions int[]  $5 handlers int[]: which handler the name belongs to (a handler can have several)
-- $6 wanted int[]: most rows of this range       $7 free int[]: its handler's free slots
-- $8 free slots of the process                   $9 whether a job that has to run alone may be taken (one at a time)
-- $10 most rows in all
-- $11, $12 text[]: names of handlers that take the transaction, and under which name their inbox marks stand
-- $13 modules int[], $14 module_free int[]: of each range, its handler's module and that module's free slots
-- $15 crash limit
-- $16 float8[]: where to begin, for each range and its four priorities, in seconds of this server's clock; empty: at the head
-- Answer: the claimed jobs with their message, in no order, because a sort of them with their messages was a tenth of a claim; nothing when this worker is not alive any more.
with
-- KEY SHARE: a rescue (FOR UPDATE) waits for nobody and skips us; our own renewal does not wait either.
alive as materialized (
  select 1 from :schema.worker where id = $1::uuid and dead_at is null and expires_at > now() for key share
),
-- One index range a (name, version, priority), never a sort of the backlog; a handler's backlog starves no other.
-- Inside a range rows are locked as they are pulled, so the limit around the priorities also limits the locks.
candidate as materialized (
  select j.*, r.handler, r.free, r.module, r.module_free, r.n
  from unnest($3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $13::int[], $14::int[]) with ordinality
       as r (job_type, version, handler, wanted, free, module, module_free, n)
  cross join lateral (
    select l.*
    from generate_series(0, 3) as p (priority)
    cross join lateral (
      select l.ctid as tid, l.id, l.priority, l.available_at,
             l.crashes > 1 or (l.crashes = 1 and ($15::int <= 2 or l.attempts + 1 >= l.max_attempts)) as alone,
             l.crashes > 0 or l.attempts + 1 >= l.max_attempts as risky
      from :schema.job_live l
      where l.job_type = r.job_type and l.payload_version = r.version and l.priority = p.priority::smallint
        and l.available_at <= now()
        and l.available_at >= coalesce(to_timestamp(($16::float8[])[((r.n - 1) * 4 + p.priority + 1)::int]), '-infinity')
        and l.status = 'pending'
        and ($9::boolean or not (l.crashes > 1 or (l.crashes = 1 and ($15::int <= 2 or l.attempts + 1 >= l.max_attempts))))
        and (r.free > 0 or (l.crashes = 0 and l.attempts + 1 < l.max_attempts))
      order by l.available_at, l.id
      limit r.wanted
      for update skip locked
    ) l
    limit r.wanted
  ) j
  where exists (select from alive)          -- a one-time filter: no row is locked for a dead worker
),
-- A job on its last attempt, or that crashed before, is taken into a free slot only (it must not be charged for a
-- neighbour's crash while it waits in memory), and of those that have to run alone just one. They are few or none, so that
-- only they are sorted and numbered.
ranked as (
  select c.tid, c.id, c.n, c.priority, c.available_at, c.free, c.module_free, c.alone,
         row_number() over (partition by c.handler order by c.priority, c.available_at, c.id) as nth_of_handler,
         row_number() over (partition by c.module order by c.n, c.priority, c.available_at, c.id) as nth_of_module,
         row_number() over (order by c.n, c.priority, c.available_at, c.id) as nth,
         row_number() over (partition by c.alone order by c.n, c.priority, c.available_at, c.id) as nth_alone
  from candidate c
  where c.risky
),
picked as materialized (
  select tid from (
    select c.tid, c.n, c.priority, c.available_at, c.id from candidate c where not c.risky
    union all
    select tid, n, priority, available_at, id from ranked
    where nth_of_handler <= free and nth_of_module <= module_free and nth <= $8::int and (not alone or nth_alone = 1)
  ) p
  order by n, priority, available_at, id
  limit $10::int
),
claimed as (
  update :schema.job_live l
  set status = 'running', claim_id = $2::uuid, locked_by = $1::uuid, locked_at = now(), attempts = l.attempts + 1
  -- By place, which cannot change while we hold the lock: no index is read, and no plan can scan the table instead. A row that
  -- somebody moved between our snapshot and our lock is not there, stays pending, and is found by the next claim.
  where l.ctid = any(array(select tid from picked))
  returning l.id, l.event_id, l.job_type, l.payload_version, l.attempts, l.max_attempts, l.crashes, l.priority,
            l.available_at, l.created_at, l.payload, l.metadata
)
-- The jobs of one event share its message: it comes with one of them, and the client gives it to the others.
select c.id, c.event_id, c.job_type, c.attempts, c.max_attempts, c.crashes,
       c.event_id is null or c.first as brings_message,
       coalesce(e.event_type, c.job_type), coalesce(e.event_version, c.payload_version),
       -- a client's calendar is shorter than the server's, and knows no infinity
       least(greatest(coalesce(e.occurred_at, c.created_at), '0001-01-01 UTC'), '9999-12-31 UTC'), coalesce(e.subject_type, ''), e.subject_id,
       coalesce(e.metadata, c.metadata, '{}')::text, coalesce(e.payload, c.payload)::text,
       -- One probe a job, where there can be a mark. As a join the planner may take the mark's key alone, which is the second column of
       -- the index, and as an `exists` it may hash the inbox: either reads all of it, and looks as cheap while it is empty.
       c.job_type = any($11::text[]) and (
         select true from :schema.inbox i
         where i.handler = ($12::text[])[array_position($11::text[], c.job_type)] and i.key = coalesce(c.event_id, c.id)
       ) is not null as done_before,
       -- how long it has been due: by this server's clock, which is the one that said when; no time can be taken from an infinite one
       case when isfinite(c.available_at) then greatest(extract(epoch from now() - c.available_at), 0) else 'infinity' end::float8 as late,
       -- of a command that says so: the seconds until it is too old, less than none when it is. Bounded before it is a float, whatever
       -- somebody wrote there; a row that refuses would end the whole claim
       case when c.event_id is null and jsonb_typeof(c.metadata -> 'expires_at') = 'number'
            then least(greatest((c.metadata ->> 'expires_at')::numeric - extract(epoch from now())::numeric, -1e9), 1e12)::float8
       end as expires_in,
       c.priority
from (select *, row_number() over (partition by event_id) = 1 as first from claimed) c
-- LIMIT 1 keeps it one primary key lookup an event, in the one partition that can hold it.
left join lateral (
  select v.event_type, v.event_version, v.occurred_at, v.subject_type, v.subject_id, v.metadata, v.payload
  from :schema.event v where v.id = c.event_id and c.first limit 1
) e on true
