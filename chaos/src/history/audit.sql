-- Where handlers have their effects, and the audit trail: each change of a job's row and of a worker's life, in the order in
-- which they took place. Whoever changes a row holds its lock until the commit, so the next one's number is later.
create schema chaos;

-- No unique constraint: what happens twice is to show.
create table chaos.business (tx text not null);
create table chaos.effect (handler text not null, source uuid not null, claim uuid not null);
create table chaos.counted (handler text, source uuid, times int not null, primary key (handler, source));
create table chaos.pardon (source uuid primary key);

create sequence chaos.no;

create table chaos.step (
  no        bigint      not null default nextval('chaos.no'),
  at        timestamptz not null default clock_timestamp(),
  xid       xid8        not null default pg_current_xact_id(),
  node      text        default current_setting('chaos.node', true),      -- whose connection
  service   text        default current_setting('application_name', true), -- which of its services
  what      text        not null,   -- made | changed | gone | succeeded | failed | redriven | broken
  job       uuid        not null,
  source    uuid        not null,   -- the event, or the job itself
  job_type  text        not null,
  status    text        not null,   -- before, where it is gone
  claim     uuid,                   -- after a claim the new one, else the one that was held
  worker    uuid,
  attempts  int         not null,
  most      int         not null,
  crashes   int         not null,
  was       text,                   -- the status before
  had       uuid,                   -- the claim before
  reason    text
);

create table chaos.worker_step (
  no     bigint      not null default nextval('chaos.no'),
  at     timestamptz not null default clock_timestamp(),
  what   text        not null,   -- registered | died | removed
  worker uuid        not null,
  node   text
);

create function chaos.note_live() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into chaos.step (what, job, source, job_type, status, claim, worker, attempts, most, crashes)
    values ('made', new.id, coalesce(new.event_id, new.id), new.job_type, new.status, new.claim_id, new.locked_by, new.attempts, new.max_attempts, new.crashes);
  elsif tg_op = 'UPDATE' then
    insert into chaos.step (what, job, source, job_type, status, claim, worker, attempts, most, crashes, was, had)
    values ('changed', new.id, coalesce(new.event_id, new.id), new.job_type, new.status, new.claim_id, coalesce(new.locked_by, old.locked_by),
            new.attempts, new.max_attempts, new.crashes, old.status, old.claim_id);
  else
    insert into chaos.step (what, job, source, job_type, status, claim, worker, attempts, most, crashes)
    values ('gone', old.id, coalesce(old.event_id, old.id), old.job_type, old.status, old.claim_id, old.locked_by, old.attempts, old.max_attempts, old.crashes);
  end if;
  return null;
end $$;
create trigger note after insert or update or delete on system.job_live for each row execute function chaos.note_live();

-- What is final is made; that it is changed or removed is for the checker to judge.
create function chaos.note_final() returns trigger language plpgsql as $$
declare
  it record;
begin
  if tg_op = 'DELETE' then it := old; else it := new; end if;
  insert into chaos.step (what, job, source, job_type, status, worker, attempts, most, crashes, reason)
  values (case tg_op when 'INSERT' then it.status when 'DELETE' then case it.status when 'failed' then 'redriven' else 'broken' end else 'broken' end,
          it.id, coalesce(it.event_id, it.id), it.job_type, it.status, it.locked_by, it.attempts, it.max_attempts, it.crashes, it.reason);
  return null;
end $$;
create trigger note after insert or update or delete on system.job_succeeded for each row execute function chaos.note_final();
create trigger note after insert or update or delete on system.job_failed for each row execute function chaos.note_final();

create function chaos.note_worker() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into chaos.worker_step (what, worker, node) values ('registered', new.id, new.name);
  elsif tg_op = 'UPDATE' then
    insert into chaos.worker_step (what, worker, node) values ('died', new.id, new.name);
  else
    insert into chaos.worker_step (what, worker, node) values ('removed', old.id, old.name);
  end if;
  return null;
end $$;
create trigger note after insert or delete on system.worker for each row execute function chaos.note_worker();
create trigger died after update on system.worker for each row
  when (old.dead_at is null and new.dead_at is not null) execute function chaos.note_worker();
