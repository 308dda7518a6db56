//! retry: when a failed attempt is repeated, how often, and what is kept of it.

use outbox_testing::fault::{Point, Proxy};
use outbox_testing::{Sandbox, eventually};
use sqlx::Row as _;
use sqlx::postgres::PgPoolOptions;

use crate::floor::{Do, Floor, Followed, Stage, Worker, ask, fail};

/// S2-29, S2-33, S1-30, S0-25, S0-26, B9: a handler that always fails runs exactly `max_attempts` times, each time behind its backoff, and the job is
/// then failed for good with its last error; each attempt shows in the row and in the history.
#[tokio::test]
async fn attempts_end_behind_their_backoff() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.doubling"]).await;
    let event = ask(&worker.outbox, "a", [fail("one"), fail("two"), fail("three"), fail("never")]).await;
    let job = floor.until("desk.doubling", event, "failed").await;
    assert_eq!((job.attempts, job.max_attempts, job.reason.as_deref()), (3, 3, Some("exhausted")));
    assert_eq!(job.last_error.as_deref(), Some("three"));
    assert_eq!(floor.stage.executions("desk.doubling", "a"), 3);
    let kept = |outcome: &str, error: &str| (outcome.to_owned(), Some(error.to_owned()));
    assert_eq!(floor.history(&job).await, [kept("retry", "one"), kept("retry", "two"), kept("failed", "three")]);
    let gaps = gaps(&floor).await;
    assert!(gaps[0] >= 400 && gaps[1] >= 800, "{gaps:?}");
    worker.stop().await;
}

/// Milliseconds between the end of an attempt and the start of the next one.
async fn gaps(floor: &Floor) -> Vec<i64> {
    let text = floor.fill(
        "select (extract(epoch from lead(started_at) over (partition by job_id order by attempt) - ended_at) * 1000)::bigint
         from :schema.attempt order by job_id, attempt",
    );
    let rows = sqlx::query(text).fetch_all(floor.sandbox.pool()).await.unwrap();
    rows.iter().filter_map(|row| row.get(0)).collect()
}

/// S2-33, O10, S0-25: the number of workers does not change the cadence: five workers repeat a job no more often than one would.
#[tokio::test]
async fn the_cadence_does_not_depend_on_the_number_of_workers() {
    let floor = Floor::new().await;
    let mut workers = Vec::new();
    for _ in 0..5 {
        workers.push(floor.worker(&["desk.doubling"]).await);
    }
    for label in ["a", "b", "c"] {
        ask(&workers[0].outbox, label, [fail("one"), fail("two"), fail("three")]).await;
    }
    let jobs = floor.until_settled().await;
    for worker in workers {
        worker.stop().await;
    }
    assert!(jobs.0.iter().all(|job| job.attempts == 3));
    let gaps = gaps(&floor).await;
    assert_eq!(gaps.len(), 6);
    assert!(gaps.chunks(2).all(|gaps| gaps[0] >= 400 && gaps[1] >= 800), "{gaps:?}");
    for label in ["a", "b", "c"] {
        assert_eq!(floor.stage.executions("desk.doubling", label), 3, "{label}");
    }
}

/// S2-51: retries do not multiply: what a handler comes to is written again and again while its connection is cut, and the handler is not called
/// again for that; a job that it enqueues has attempts of its own, and fails without a call of the first one. Calls in all are the sum of what each may
/// have, not the product.
#[tokio::test]
async fn retries_within_retries_do_not_multiply() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = PgPoolOptions::new().max_connections(4).connect_lazy_with(proxy.options());
    let unwritten = proxy.cut_at(Point::before("settle").every_time());
    let worker = Worker::start(floor.outbox_on(pool, &["desk.note", "till.book", "shelf.fail"]).build().await.unwrap());
    let mut plan = vec![Do::Publish("inner".into())];
    plan.extend((0..20).map(|_| fail("no")));
    let event = ask(&worker.outbox, "outer", (0..20).map(|_| fail("no")).collect::<Vec<_>>()).await;
    eventually("its outcome is sent again and again", async || (unwritten.reached() >= 3).then_some(())).await;
    drop(unwritten);
    let note = floor.until("desk.note", event, "failed").await;
    let book = floor.until("till.book", event, "failed").await;
    assert_eq!((note.attempts, book.attempts), (3, 3));
    assert_eq!((floor.stage.executions("desk.note", "outer"), floor.stage.executions("till.book", "outer")), (3, 3));
    let event = ask(&worker.outbox, "nested", plan).await;
    floor.until("till.book", event, "succeeded").await;
    eventually("the inner one has failed for good", async || {
        let inner = floor.sandbox.jobs().await.of("shelf.fail");
        (inner.count("failed") == 1).then_some(())
    })
    .await;
    assert_eq!((floor.stage.executions("till.book", "nested"), floor.stage.executions("shelf.fail", "inner")), (1, 3));
    worker.stop().await;
}

/// Fails whatever it gets.
#[outbox::subscriber(event = "work.followed", name = "shelf.fail", max_attempts = 3, backoff = fixed("50ms"))]
async fn fail_inside(
    followed: Followed,
    attempt: outbox::Attempt,
    _key: outbox::IdempotencyKey,
    outbox::State(stage): outbox::State<Stage>,
) -> outbox::HandlerResult {
    stage.play_by("shelf.fail", &followed.label, &[fail("1"), fail("2"), fail("3"), fail("4")], attempt).await
}

/// B9b: a delay that the handler asks for counts as an attempt and stops at the limit.
#[tokio::test]
async fn retry_after_stops_at_the_limit() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let later = Do::RetryAfter(10);
    let event = ask(&worker.outbox, "a", [later.clone(), later.clone(), later.clone(), later]).await;
    let job = floor.until("desk.note", event, "failed").await;
    assert_eq!((job.attempts, job.reason.as_deref()), (3, Some("exhausted")));
    assert_eq!(floor.stage.executions("desk.note", "a"), 3);
    worker.stop().await;
}

/// S0-26: `max_attempts` of the row is what counts: lowered behind a job's back it ends the job at its next failure, and strands
/// nothing.
#[tokio::test]
async fn a_limit_that_was_lowered_ends_the_job() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [fail("one"), fail("two")]).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("desk.note", event).await.attempts, 1);
    floor.sandbox.execute("update :schema.job_live set max_attempts = 1").await;
    let worker = Worker::start(outbox);
    let job = floor.until("desk.note", event, "failed").await;
    assert_eq!((job.attempts, job.reason.as_deref(), job.last_error.as_deref()), (2, Some("exhausted"), Some("two")));
    worker.stop().await;
}

#[derive(Debug)]
struct Outer(std::io::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the letter was not sent")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[outbox::subscriber(
    event = "work.asked",
    name = "clerk.chained",
    max_attempts = 1,
    idempotent = "it never does anything"
)]
async fn chained(_asked: crate::floor::Asked) -> outbox::HandlerResult {
    Err(anyhow::Error::from(Outer(std::io::Error::other("the post office is closed"))).context("on a Sunday").into())
}

/// S0-24: what is kept of an error is its whole source chain, in the row and in the history.
#[tokio::test]
async fn the_source_chain_is_kept() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.chained"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    let job = floor.job("clerk.chained", event).await;
    let chain = "on a Sunday: the letter was not sent: the post office is closed";
    assert_eq!(job.last_error.as_deref(), Some(chain));
    assert_eq!(floor.history(&job).await, [("failed".to_owned(), Some(chain.to_owned()))]);
}
