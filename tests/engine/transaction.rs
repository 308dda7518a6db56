//! Handlers that take the transaction: effect and completion are one.

use std::time::{Duration, Instant};

use outbox::prelude::*;
use outbox_testing::fault::Point;
use outbox_testing::{deliver_twice, eventually};

use crate::floor::{Asked, Do, Explosive, Floor, Stage, Worker, ask, ask_many, fail, wait};

fn sql(text: impl Into<String>) -> Do {
    Do::Sql(text.into())
}

/// S2-25, S0-23: effect, inbox mark and completion become visible in one and the same transaction.
#[tokio::test]
async fn effect_and_completion_commit_together() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("till.book", event).await.status, "succeeded");
    let one = "select count(*) from :schema.done d join :schema.job_succeeded j on j.xmin = d.xmin join :schema.inbox i on i.xmin = d.xmin
               where i.handler = 'till.book' and i.key = j.event_id";
    assert_eq!(floor.sandbox.number(one).await, 1, "one transaction wrote all three");
}

/// S0-24: an error rolls the effect back; the attempt and the error are recorded all the same, and the retry has the effect once.
#[tokio::test]
async fn an_error_takes_the_effect_back_and_is_recorded() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.book"]).await;
    let event = ask(&worker.outbox, "a", [fail("no change in the till"), Do::Wait("end".into())]).await;
    floor.until_begun("till.book", "a", 2).await;
    let job = floor.job("till.book", event).await;
    assert_eq!((job.status.as_str(), job.attempts), ("running", 2));
    assert_eq!(job.last_error.as_deref(), Some("no change in the till"));
    assert_eq!(floor.effects("a").await, 0);
    floor.stage.open("end");
    floor.until("till.book", event, "succeeded").await;
    assert_eq!(floor.effects("a").await, 1);
    worker.stop().await;
}

/// S1-30, S0-24, O26: a statement of the handler that fails aborts its transaction; the real error is recorded outside of it, attempts
/// are counted, and the job ends when they are used up.
#[tokio::test]
async fn a_failed_statement_is_recorded_with_its_own_error() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.book"]).await;
    let broken = sql("select 1 / 0");
    let event = ask(&worker.outbox, "a", [broken.clone(), broken.clone(), broken]).await;
    let job = floor.until("till.book", event, "failed").await;
    assert_eq!((job.attempts, job.reason.as_deref()), (3, Some("exhausted")));
    assert!(job.last_error.as_deref().is_some_and(|error| error.contains("division by zero")), "{job:?}");
    let history = floor.history(&job).await;
    assert_eq!(history.iter().map(|(outcome, _)| outcome.as_str()).collect::<Vec<_>>(), ["retry", "retry", "failed"]);
    assert_eq!(floor.effects("a").await, 0);
    worker.stop().await;
}

/// S0-24: a handler that swallows the error of its own failed statement and returns `Ok` is not taken for done: its transaction
/// cannot commit, and the attempt fails with a text that says so.
#[tokio::test]
async fn an_error_that_the_handler_swallows_is_still_one() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.careless"]).await;
    let event = ask(&worker.outbox, "a", []).await;
    let job = floor.until("till.careless", event, "failed").await;
    assert!(job.last_error.as_deref().is_some_and(|error| error.contains("transaction is aborted")), "{job:?}");
    assert_eq!(floor.effects("a").await, 0);
    worker.stop().await;
}

#[outbox::subscriber(event = "work.asked", name = "till.careless", max_attempts = 2, backoff = fixed("20ms"))]
async fn careless(
    asked: Asked,
    mut tx: outbox::Tx<'_>,
    outbox::State(stage): outbox::State<crate::floor::Stage>,
) -> outbox::HandlerResult {
    stage.effect(&mut tx, "till.careless", &asked.label).await?;
    let swallowed = sqlx::query("select 1 / 0").execute(&mut *tx).await;
    assert!(swallowed.is_err());
    Ok(())
}

/// S0-35: a handler reads and writes the tables of its own business through the transaction that it is given, and what it
/// wrote commits with the job.
#[tokio::test]
async fn a_handler_works_on_current_rows_in_its_transaction() {
    let floor = Floor::new().await;
    floor
        .sandbox
        .execute("create table :schema.line (label text, units int); insert into :schema.line values ('a', 1)")
        .await;
    let worker = floor.worker(&["till.book"]).await;
    let line = floor.sandbox.table("line");
    let read_and_write = format!("insert into {line} select label || ' booked', units from {line} where label = 'a'");
    floor.sandbox.execute("update :schema.line set units = 7").await;
    ask(&worker.outbox, "a", [sql(read_and_write)]).await;
    floor.until_settled().await;
    assert_eq!(floor.sandbox.number("select units::bigint from :schema.line where label = 'a booked'").await, 7);
    worker.stop().await;
}

/// S0-7: what a handler publishes through its transaction commits with its effect, wakes the workers, and carries correlation
/// and causation; when the handler fails, it was never published.
#[tokio::test]
async fn a_follow_up_commits_with_the_effect() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book", "shelf.follow"]).poll_interval(std::time::Duration::from_hours(1));
    let worker = Worker::start(outbox.build().await.unwrap());
    let event = ask(&worker.outbox, "a", [Do::Publish("b".into())]).await;
    floor.until_begun("shelf.follow", "b", 1).await;
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.stage.noted("correlation "), [event.to_string()]);
    assert_eq!(floor.stage.noted("causation "), [event.to_string()]);
    let together =
        "select count(*) from :schema.done d join :schema.event e on e.xmin = d.xmin where e.subject_id = 'b'";
    assert_eq!(floor.sandbox.number(together).await, 1);
}

/// S2-24, S0-32: the same event delivered once more to a handler that takes the transaction has no second effect.
#[tokio::test]
async fn a_second_delivery_has_no_second_effect() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let asked = Asked { label: "a".into(), plan: vec![] };
    let twice = deliver_twice(&outbox, "till.book", &asked, async || floor.effects("a").await).await;
    assert_eq!((twice.once, twice.twice), (1, 1));
    let duplicate = "select count(*) from :schema.job where reason = 'duplicate'";
    assert_eq!(floor.sandbox.number(duplicate).await, 1, "it was ended by the inbox, not run");
}

/// Has its effect beside `till.book`, of the same event.
#[subscriber(event = "work.asked", name = "till.check")]
async fn check(asked: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.check", &asked.label).await?;
    Ok(())
}

/// S2-24: the mark is one handler's: another one of the same event has its effect all the same, and neither has it twice.
#[tokio::test]
async fn each_handler_has_a_mark_of_its_own() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book", "till.check"]).build().await.unwrap();
    ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.effects("a").await, 2);
    for handler in ["till.book", "till.check"] {
        outbox.replay(handler).run().await.unwrap();
    }
    outbox.drain().await.unwrap();
    assert_eq!(floor.effects("a").await, 2);
    assert_eq!(floor.sandbox.number("select count(distinct handler) from :schema.inbox").await, 2);
}

/// S2-27: what a handler that discards its message had written is rolled back, and the job has ended: it is not tried again.
#[tokio::test]
async fn a_discarded_message_has_no_effect() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Discard]).await;
    outbox.drain().await.unwrap();
    outbox.drain().await.unwrap();
    let job = floor.job("till.book", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("succeeded", Some("discarded"), 1));
    assert_eq!((floor.effects("a").await, floor.stage.executions("till.book", "a")), (0, 1));
}

/// Is ended by its timeout with a statement under way that would write after that.
#[subscriber(event = "work.asked", name = "till.late", max_attempts = 1, timeout = "300ms")]
async fn late(asked: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.late", &asked.label).await?;
    let text =
        format!("select pg_sleep(1); insert into {} (handler, label) values ('till.late', 'behind')", stage.effects);
    sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&mut *tx).await?;
    Ok(())
}

/// S2-50: what a handler had written when its time was over is rolled back, and what it had left running on the server does not go on.
#[tokio::test]
async fn a_timeout_ends_the_effect_too() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.late"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    let job = floor.job("till.late", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("exhausted")));
    let running = "select count(*) from pg_stat_activity where query like '%till.late%' and state <> 'idle' and pid <> pg_backend_pid()
                   and query like 'select pg_sleep%'";
    eventually("nothing of it runs on the server", async || (floor.sandbox.number(running).await == 0).then_some(()))
        .await;
    assert_eq!((floor.effects("a").await, floor.effects("behind").await), (0, 0));
}

/// S2-25, S0-32: two deliveries of one event at the same time have one effect: the second waits for the first one's mark, and is rolled
/// back.
#[tokio::test]
async fn two_deliveries_at_once_have_one_effect() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.book"]).await;
    let event = ask(&worker.outbox, "a", [Do::Wait("end".into()), Do::Wait("end".into())]).await;
    floor.until_begun("till.book", "a", 1).await;
    // As if a claim had lost its fence: the same event once more, beside the one that runs.
    floor
        .sandbox
        .execute(
            "alter table :schema.job_live drop constraint job_live_event_handler;
             insert into :schema.job_live (id, event_id, job_type, max_attempts)
             select gen_random_uuid(), event_id, job_type, max_attempts from :schema.job_live",
        )
        .await;
    worker.outbox.kick();
    floor.until_begun("till.book", "a", 2).await;
    floor.stage.open("end");
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.succeeded(), floor.effects("a").await), (2, 1), "{jobs:#?} of {event}");
    assert_eq!(jobs.0.iter().filter(|job| job.reason.as_deref() == Some("duplicate")).count(), 1);
    worker.stop().await;
}

/// A handler that ends its transaction by raw SQL is quarantined loudly: effect and completion can no longer be one.
#[tokio::test]
async fn a_handler_that_ends_its_transaction_is_quarantined() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.book"]).await;
    for (label, text) in [("committed", "commit"), ("rolled back", "rollback"), ("begun again", "commit; begin")] {
        let event = ask(&worker.outbox, label, [sql(text)]).await;
        let job = floor.until("till.book", event, "failed").await;
        assert_eq!((job.reason.as_deref(), job.attempts), (Some("quarantined"), 1), "{label}");
        assert!(job.last_error.as_deref().is_some_and(|error| error.contains("ended the transaction")), "{job:?}");
    }
    worker.stop().await;
}

#[subscriber(event = "work.asked", name = "till.sly", max_attempts = 3, backoff = fixed("1ms"))]
async fn sly(asked: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.sly", &asked.label).await?;
    sqlx::raw_sql("commit").execute(&mut *tx).await?;
    Err("and then it failed".into())
}

/// A handler that commits by raw SQL and then fails is quarantined too: its effect stands, and another attempt would have it
/// twice.
#[tokio::test]
async fn a_handler_that_commits_and_fails_has_its_effect_once() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.sly"]).await;
    let event = ask(&worker.outbox, "a", []).await;
    let job = floor.until("till.sly", event, "failed").await;
    assert_eq!((job.reason.as_deref(), job.attempts, floor.effects("a").await), (Some("quarantined"), 1, 1), "{job:?}");
    worker.stop().await;
}

#[subscriber(event = "work.asked", name = "till.explosive", max_attempts = 2, backoff = fixed("1ms"), timeout = "200ms")]
async fn explosive(asked: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.explosive", &asked.label).await?;
    let _explosive = Explosive;
    sqlx::query("select pg_sleep(5)").execute(&mut *tx).await?;
    Ok(())
}

/// A value of the handler that panics when it is dropped in the middle of a statement costs an attempt: the effect is rolled
/// back, and the pool has its one connection back.
#[tokio::test]
async fn a_panic_while_a_handler_is_dropped_takes_the_effect_back() {
    let floor = Floor::new().await;
    let options = floor.sandbox.options();
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let worker = Worker::start(floor.outbox_on(pool.clone(), &["till.explosive"]).build().await.unwrap());
    let event = ask(&worker.outbox, "a", []).await;
    let job = floor.until("till.explosive", event, "failed").await;
    assert_eq!((job.reason.as_deref(), job.attempts, job.crashes), (Some("exhausted"), 2, 0), "{job:?}");
    assert_eq!(floor.effects("a").await, 0);
    sqlx::query("select 1").execute(&pool).await.unwrap();
    worker.stop().await;
}

/// S0-24: a commit that the server refuses, here by a deferred constraint, is a failed attempt with that error; the retry has
/// the effect.
#[tokio::test]
async fn a_refused_commit_is_retried_with_its_error() {
    let floor = Floor::new().await;
    floor.sandbox.execute("create table :schema.unique_one (id int unique deferrable initially deferred); insert into :schema.unique_one values (1)").await;
    let worker = floor.worker(&["till.book"]).await;
    let table = floor.sandbox.table("unique_one");
    let refused = sql(format!("insert into {table} values (1)"));
    let event = ask(&worker.outbox, "a", [refused, Do::Wait("end".into())]).await;
    floor.until_begun("till.book", "a", 2).await;
    let job = floor.job("till.book", event).await;
    assert!(job.last_error.as_deref().is_some_and(|error| error.contains("unique_one_id_key")), "{job:?}");
    assert_eq!((job.attempts, floor.effects("a").await), (2, 0));
    floor.stage.open("end");
    floor.until("till.book", event, "succeeded").await;
    assert_eq!(floor.effects("a").await, 1);
    worker.stop().await;
}

/// S0-23, B6: a handler whose job was taken over while it ran cannot commit: its effect is rolled back, and only the new
/// holder's stands.
#[tokio::test]
async fn a_stale_handler_cannot_commit_its_effect() {
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["till.book"]).concurrency(1).build().await.unwrap());
    let event = ask(&worker.outbox, "a", [Do::Wait("stale".into()), Do::Wait("fresh".into())]).await;
    floor.until_begun("till.book", "a", 1).await;
    let other = Worker::start(floor.outbox(&["till.book"]).concurrency(1).build().await.unwrap());
    // What rescue does, while the worker goes on undisturbed.
    floor
        .sandbox
        .execute("update :schema.job_live set status = 'pending', claim_id = null, locked_by = null, locked_at = null")
        .await;
    other.outbox.kick();
    floor.until_begun("till.book", "a", 2).await;
    // Both slots are taken: another job begins when the stale execution has given its own back, its outcome handled.
    ask(&worker.outbox, "b", []).await;
    floor.stage.open("stale");
    floor.until_begun("till.book", "b", 1).await;
    let job = floor.job("till.book", event).await;
    assert_eq!((job.status.as_str(), job.attempts, floor.effects("a").await), ("running", 2, 0));
    floor.stage.open("fresh");
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.attempts, floor.effects("a").await), (2, 1));
    worker.stop().await;
    other.stop().await;
    assert_eq!(floor.effects("a").await, 1);
}

/// A pool that gives no connection costs no attempt: the handler never ran, and the job is run once there is one.
#[tokio::test]
async fn a_pool_without_a_connection_costs_no_attempt() {
    let floor = Floor::new().await;
    let options = floor.sandbox.options();
    let pool =
        sqlx::postgres::PgPoolOptions::new().max_connections(1).acquire_timeout(std::time::Duration::from_millis(100));
    let outbox = floor.outbox_on(pool.connect_lazy_with(options), &["till.book"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let taken = outbox.pool().acquire().await.unwrap();
    let worker = Worker::start(outbox);
    let snoozed =
        "select count(*) from :schema.job_live where status = 'pending' and attempts = 0 and available_at > now()";
    floor.until_number(snoozed, 1).await;
    drop(taken);
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.attempts, job.last_error), (1, None));
    worker.stop().await;
}

/// A pool that the application has closed, and that refuses at once, is asked once a second by each slot, not by the whole
/// backlog as fast as it can be claimed.
#[tokio::test]
async fn a_closed_pool_is_no_hot_loop() {
    let floor = Floor::new().await;
    let options = floor.sandbox.options();
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(2).connect_lazy_with(options);
    let outbox = floor.outbox_on(pool.clone(), &["till.book"]).concurrency(4).build().await.unwrap();
    ask_many(&outbox, 100, []).await;
    floor
        .sandbox
        .execute(
            "create table :schema.put_off (id uuid);
             create function :schema.put_off() returns trigger language plpgsql as
             $$ begin insert into :schema.put_off values (new.id); return null; end $$;
             create trigger put_off after update on :schema.job_live for each row when (new.status = 'pending')
             execute function :schema.put_off()",
        )
        .await;
    pool.close().await;
    let begun = Instant::now();
    let worker = Worker::start(outbox);
    // Three rounds of the four slots: the first, and one a second.
    eventually("twelve executions found no connection", async || {
        (floor.sandbox.number("select count(*) from :schema.put_off").await >= 12).then_some(())
    })
    .await;
    assert!(begun.elapsed() >= Duration::from_millis(1900), "three rounds within {:?}", begun.elapsed());
    assert_eq!(
        floor.sandbox.number("select max(attempts)::bigint from :schema.job_live where status = 'pending'").await,
        0
    );
    worker.stop().await;
}

/// S0-32: a job whose effect is committed but whose completion is not known to the worker is not run again with a second effect:
/// the answer of the commit is lost, and effect and completion stand once.
#[tokio::test]
async fn a_lost_answer_of_the_commit_repeats_nothing() {
    let floor = Floor::new().await;
    let proxy = crate::proxy::start().await;
    let outbox = floor.outbox_on(crate::proxy::pool(&proxy), &["till.book"]).build().await.unwrap();
    let event = ask(&floor.outbox(&["till.book"]).build().await.unwrap(), "a", wait("end")).await;
    let worker = Worker::start(outbox);
    floor.until_begun("till.book", "a", 1).await;
    let lost = proxy.cut_at(Point::after("commit").following("settle_tx"));
    floor.stage.open("end");
    let job = floor.until("till.book", event, "succeeded").await;
    worker.stop().await;
    assert_eq!(lost.reached(), 1, "the answer was lost");
    assert_eq!((job.attempts, floor.effects("a").await, floor.stage.executions("till.book", "a")), (1, 1, 1));
    assert_eq!(floor.job("till.book", event).await.status, "succeeded");
}
