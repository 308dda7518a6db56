//! rescue: never against a living claim, never for nothing.

use std::time::Duration;

use outbox_testing::fault::Point;
use outbox_testing::{Logs, eventually};
use sqlx::PgConnection;
use sqlx::types::Uuid;

use crate::conformance::{claim, register};
use crate::floor::{Floor, Worker, ask, ask_many, wait};
use crate::proxy;

const RESCUE_MARK: &str = include_str!("../../outbox-postgres/src/step/rescue_mark.sql");
const UNREGISTER: &str = include_str!("../../outbox-postgres/src/step/unregister.sql");

async fn mark(floor: &Floor, c: &mut PgConnection) -> Vec<Uuid> {
    sqlx::query_scalar(floor.fill(RESCUE_MARK)).bind(20).fetch_all(c).await.unwrap()
}

/// Q1, Q26: a claim in flight keeps its worker from being marked dead, without anybody waiting; behind its commit the rescue
/// finds the job that it took. Of two rescues at once only one gets the worker.
#[tokio::test]
async fn rescue_never_meets_a_claim_in_flight() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask(&outbox, "a", []).await;
    let pool = floor.sandbox.pool();
    let worker = register(&floor, &mut pool.acquire().await.unwrap(), "1 s").await;
    let mut claiming = pool.begin().await.unwrap();
    assert_eq!(claim(&floor, &mut claiming, worker, (1, 1, true)).await.len(), 1);
    floor.until_number("select count(*) from :schema.worker where expires_at < now()", 1).await;
    let mut rescuing = pool.begin().await.unwrap();
    assert!(mark(&floor, &mut rescuing).await.is_empty(), "passed by, not waited for");
    claiming.commit().await.unwrap();
    assert_eq!(mark(&floor, &mut rescuing).await, [worker]);
    let mut second = pool.begin().await.unwrap();
    assert!(mark(&floor, &mut second).await.is_empty());
    rescuing.rollback().await.unwrap();
    second.rollback().await.unwrap();
}

/// S0-31: a worker whose lease ended claims nothing more, and locks no row.
#[tokio::test]
async fn a_worker_without_a_lease_claims_nothing() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask(&outbox, "a", []).await;
    let pool = floor.sandbox.pool();
    let worker = register(&floor, &mut pool.acquire().await.unwrap(), "-1 s").await;
    let mut claiming = pool.begin().await.unwrap();
    assert!(claim(&floor, &mut claiming, worker, (1, 1, true)).await.is_empty());
    let free = floor.fill("select id from :schema.job_live for update nowait");
    sqlx::query(free).fetch_one(pool).await.unwrap();
    claiming.rollback().await.unwrap();
}

/// Q19: a worker's row goes at its orderly end, and only when it holds nothing: otherwise it stays, its lease ends at once, and
/// what it held is taken back.
#[tokio::test]
async fn a_worker_that_holds_something_is_not_forgotten() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let worker = register(&floor, &mut c, "1 hour").await;
    claim(&floor, &mut c, worker, (1, 1, true)).await;
    sqlx::query(floor.fill(UNREGISTER)).bind(worker).execute(&mut *c).await.unwrap();
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker where expires_at <= now()").await, 1);
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes), (2, 1));
    other.stop().await;
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker where dead_at is null").await, 0);
}

/// Q19: also when it claims something in the very moment in which its row would go: the claim that is in flight is waited for
/// and seen, so the row stays, and the job is taken back by it.
#[tokio::test]
async fn a_claim_in_flight_keeps_the_row_of_its_worker() {
    let floor = Floor::new().await;
    floor
        .sandbox
        .execute(
            "create table :schema.gate (open bool);
             create function :schema.wait_at_gate() returns trigger language plpgsql as
             $$ begin while not exists (select from :schema.gate) loop perform pg_sleep(0.005); end loop; return new; end $$;
             create trigger gate before update on :schema.job_live for each row when (new.status = 'running')
             execute function :schema.wait_at_gate()",
        )
        .await;
    let outbox = floor.outbox(&["desk.note"]).shutdown_budget(Duration::from_millis(50)).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let worker = Worker::start(outbox);
    eventually("a claim is in flight", async || (activity(&floor, "claim", "Timeout").await > 0).then_some(())).await;
    let stopping = tokio::spawn(worker.stop());
    eventually("the end of the worker waits for it", async || {
        (activity(&floor, "register", "Lock").await > 0 || stopping.is_finished()).then_some(())
    })
    .await;
    floor.sandbox.execute("insert into :schema.gate values (true)").await;
    stopping.await.unwrap();
    floor.until_number("select count(*) from :schema.job where status = 'running'", 1).await;
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker").await, 1);
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes), (2, 1));
    other.stop().await;
}

/// A job of a dead worker that runs no more, written as a claim would have.
async fn held_by(floor: &Floor, worker: Uuid, event: Uuid, attempts: &str) {
    let text = format!(
        "update :schema.job_live set status = 'running', claim_id = gen_random_uuid(), locked_by = '{worker}', locked_at = now(),
         attempts = {attempts} where event_id = '{event}'"
    );
    floor.sandbox.execute(&text).await;
}

/// O7: a job of a dead worker that the database does not let go of (here its id is taken in `job_failed`, by somebody who writes rows
/// of his own) keeps no other from coming back, and no worker from being ready; it is told once.
#[tokio::test]
async fn a_job_that_cannot_be_taken_back_keeps_no_other() {
    let floor = Floor::new().await;
    let logs = Logs::warnings();
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let bad = ask(&outbox, "bad", []).await;
    let mut good = Vec::new();
    for label in ["a", "b", "c", "d"] {
        good.push(ask(&outbox, label, []).await);
    }
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let dead = register(&floor, &mut c, "-1 s").await;
    held_by(&floor, dead, bad.as_uuid(), "max_attempts").await;
    for event in &good {
        held_by(&floor, dead, event.as_uuid(), "1").await;
    }
    let taken = format!(
        "insert into :schema.job_failed (id, event_id, completed_at, max_attempts, status, job_type)
         select id, event_id, now(), 1, 'failed', 'somebody.elses' from :schema.job_live where event_id = '{}'",
        bad.as_uuid()
    );
    floor.sandbox.execute(&taken).await;
    let worker = Worker::start(outbox.clone());
    for event in good {
        let job = floor.until("desk.note", event, "succeeded").await;
        assert_eq!((job.attempts, job.crashes), (2, 1));
    }
    eventually("it is ready", async || outbox.health().is_ready().then_some(())).await;
    worker.stop().await;
    let told = logs.lines().iter().filter(|line| line.contains("does not let go of this job")).count();
    assert_eq!(told, 1, "{:?}", logs.lines());
}

/// A chore of the upkeep that is refused at each round keeps no other from its turn: what a dead worker still holds comes back though
/// the backfill gets nowhere, and the worker says so.
#[tokio::test]
async fn a_chore_that_is_refused_keeps_no_other() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    floor
        .sandbox
        .execute(
            "create function :schema.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
             create trigger refuse before update on :schema.subscription for each row execute function :schema.refuse()",
        )
        .await;
    let event = ask(&outbox, "a", []).await;
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let dead = register(&floor, &mut c, "-1 s").await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    held_by(&floor, dead, event.as_uuid(), "1").await;
    let worker = Worker::start(outbox.clone());
    floor.until("desk.note", event, "succeeded").await;
    let health = outbox.health();
    assert!(health.troubles.iter().any(|trouble| trouble.service == "upkeep"), "{health}");
    worker.stop().await;
}

/// How many connections of a service wait so in this floor's tables.
async fn activity(floor: &Floor, service: &str, waits_for: &str) -> i64 {
    let locks = "select from pg_locks l where l.pid = a.pid and l.relation = ':schema.worker'::regclass";
    let locks = locks.replace(":schema.worker", &floor.sandbox.table("worker"));
    let text = format!(
        "select count(*) from pg_stat_activity a
         where application_name = 'outbox {service}' and wait_event_type = '{waits_for}' and exists ({locks})"
    );
    floor.sandbox.number(&text).await
}

/// S0-31: a drain that dies at its first job is charged for that one: jobs on their last attempt are not held by it in advance,
/// where its death would end them unrun.
#[tokio::test]
async fn a_drain_that_dies_ends_the_job_that_it_ran_and_no_other() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    ask_many(&outbox, 20, wait("never")).await;
    let drain = tokio::spawn(async move { outbox.drain().await });
    eventually("it runs the first", async || (floor.stage.running() == 1).then_some(())).await;
    drain.abort();
    let rescuer = floor.worker(&["shelf.fill"]).await;
    floor.until_number("select count(*) from :schema.job where status = 'running'", 0).await;
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.failed(), jobs.count("pending")), (1, 19));
    assert!(jobs.0.iter().filter(|job| job.status == "pending").all(|job| job.attempts == 0 && job.crashes == 0));
    rescuer.stop().await;
}

/// S0-31: a row of a dead worker that somebody has locked keeps none of its other jobs waiting, and is taken back itself when the
/// lock is gone.
#[tokio::test]
async fn a_locked_row_keeps_no_other_from_being_rescued() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let (one, two) = (ask(&outbox, "a", wait("end")).await, ask(&outbox, "b", wait("end")).await);
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let worker = register(&floor, &mut c, "1 s").await;
    assert_eq!(claim(&floor, &mut c, worker, (2, 2, true)).await.len(), 2);
    let mut holder = floor.sandbox.pool().begin().await.unwrap();
    let lock = floor.fill("select id from :schema.job_live where event_id = $1 for update");
    sqlx::query(lock).bind(one.as_uuid()).fetch_one(&mut *holder).await.unwrap();
    let other = floor.worker(&["desk.note"]).await;
    floor.until_begun("desk.note", "b", 1).await;
    assert_eq!((floor.job("desk.note", two).await.crashes, floor.job("desk.note", one).await.crashes), (1, 0));
    holder.rollback().await.unwrap();
    floor.stage.open("end");
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.crashes == 1), "{jobs:#?}");
    eventually("the dead worker's row has gone", async || {
        (floor.sandbox.number("select count(*) from :schema.worker").await == 1).then_some(())
    })
    .await;
    other.stop().await;
}

/// S0-31: a node that freezes in the middle of its rescue, with the dead worker's row locked, keeps nobody from rescuing: the
/// server ends its transaction within seconds, and another node takes the jobs back.
#[tokio::test]
async fn a_frozen_rescuer_frees_what_it_locked() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let dead = register(&floor, &mut c, "1 hour").await;
    claim(&floor, &mut c, dead, (1, 1, true)).await;
    let proxy = proxy::start().await;
    let freezing = floor.outbox_on(proxy::pool(&proxy), &["shelf.fill"]).build().await.unwrap();
    let frozen = proxy.hold_at(Point::before("rescue_return"));
    let freezing = Worker::start(freezing);
    floor.sandbox.execute("update :schema.worker set expires_at = now() - interval '1 s' where name = 'one'").await;
    frozen.until_reached().await;
    proxy.all().black_hole();
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes), (2, 1));
    other.stop().await;
    freezing.stop().await;
}
