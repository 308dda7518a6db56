//! Handlers that take the transaction, one behind the other on a connection: the next one's transaction begins with the commit before it.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{EventId, Profile};
use outbox_testing::fault::{Point, Proxy};
use outbox_testing::{Sandbox, eventually};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::floor::{Asked, Do, Floor, Stage, Worker, ask, ask_many, fail, wait};
use crate::proxy;
use crate::support::skipped_behind_a_pooler;

/// Why what waits for a transaction to begin with a commit is skipped there.
const NONE_IS_KEPT: &str = "no transaction is kept open behind a transaction pooler";

const LEASE: Duration = Duration::from_mins(1);

/// The application's pool by way of a proxy, known by the name of the test's schema. It has a connection more than handlers run at once, or
/// one would go back to it after 20 ms, which on a busy machine is less than a handler takes.
fn pool(floor: &Floor, proxy: &Proxy) -> PgPool {
    let options = proxy.options().application_name(floor.sandbox.schema().as_ref());
    PgPoolOptions::new().max_connections(2).connect_lazy_with(options)
}

/// A worker for high throughput that runs one handler at a time, on that pool. Its lease does not end, however busy the machine is.
async fn worker(floor: &Floor, pool: PgPool, handlers: &[&str]) -> Worker {
    let outbox = floor.outbox_on(pool, handlers).profile(Profile::high_throughput()).concurrency(1).lease(LEASE);
    Worker::start(outbox.build().await.unwrap())
}

async fn asked(floor: &Floor, events: impl IntoIterator<Item = (&str, Vec<Do>)>) -> Vec<EventId> {
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let mut ids = Vec::new();
    for (label, plan) in events {
        ids.push(ask(&outbox, label, plan).await);
    }
    ids
}

const JOBS: u64 = 20;

/// Of a backlog, transactions begin in the round trip of the commit before them; each handler's effect, mark and completion are one
/// transaction all the same, and no two handlers'.
#[tokio::test]
async fn a_transaction_begins_with_the_commit_before_it() {
    if skipped_behind_a_pooler(NONE_IS_KEPT) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), usize::try_from(JOBS).unwrap(), []).await;
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    floor.until_settled().await;
    worker.stop().await;
    let application = floor.sandbox.schema().to_string();
    let sent = proxy.of(&application);
    assert_eq!((sent.count("settle_tx"), sent.count("commit")), (JOBS, JOBS), "{:?}", sent.statements());
    // The others began in the round trip of a commit: `commit` stands for a text here, whatever else is in it.
    assert!(sent.count("begin") < JOBS, "{:?}", sent.statements());
    let one = "select count(distinct d.xmin::text) from :schema.done d join :schema.job_succeeded j on j.xmin = d.xmin
               join :schema.inbox i on i.xmin = d.xmin where i.key = j.event_id";
    assert_eq!(floor.sandbox.number(one).await, i64::try_from(JOBS).unwrap());
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, i64::try_from(JOBS).unwrap());
}

/// By default each handler's transaction begins for itself.
#[tokio::test]
async fn by_default_each_transaction_begins_for_itself() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), 20, []).await;
    let outbox = floor.outbox_on(pool(&floor, &proxy), &["till.book"]).concurrency(1).lease(LEASE);
    let worker = Worker::start(outbox.build().await.unwrap());
    floor.until_settled().await;
    worker.stop().await;
    let application = floor.sandbox.schema().to_string();
    let sent = proxy.of(&application);
    let settled = sent.count("settle_tx");
    // A begin that has no answer in time is begun again.
    assert!(settled >= 20 && sent.count("begin") >= settled && sent.count("commit") >= settled);
}

#[subscriber(event = "work.asked", name = "till.mark")]
async fn mark(asked: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.mark", &asked.label).await?;
    stage.note(format!("marked {}", asked.label));
    Ok(())
}

/// Holds the only slot once the other one has run.
#[subscriber(event = "work.asked", name = "desk.hold")]
async fn hold(_: Asked, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    if !stage.noted("marked ").is_empty() {
        stage.note("holds");
        stage.opened("end").await;
    }
    Ok(())
}

/// A transaction that began for a job which does not come is rolled back at once, and its connection is back in the pool.
#[tokio::test]
async fn a_transaction_for_which_no_job_comes_is_rolled_back() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    ask_many(&floor.outbox(&["till.mark", "desk.hold"]).build().await.unwrap(), 3, []).await;
    let pool = pool(&floor, &proxy);
    let worker = worker(&floor, pool.clone(), &["till.mark", "desk.hold"]).await;
    eventually("the slot is held", async || (!floor.stage.noted("holds").is_empty()).then_some(())).await;
    let open = format!(
        "select count(*) from pg_stat_activity where application_name = '{}' and xact_start is not null",
        floor.sandbox.schema()
    );
    floor.until_number(&open, 0).await;
    eventually("its connection is back", async || (pool.num_idle() == pool.size() as usize).then_some(())).await;
    floor.stage.open("end");
    floor.until_settled().await;
    assert_eq!(floor.sandbox.number("select count(distinct label) from :schema.done").await, 3);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, 3);
    worker.stop().await;
    // No handler failed, so what was rolled back had begun for nobody.
    if !Sandbox::is_pooled() {
        assert!(proxy.of(floor.sandbox.schema().as_ref()).count("rollback") > 0);
    }
}

/// Between two handlers the open transaction has neither an id nor a snapshot, so that it holds back no vacuum; and it ends by itself, with
/// all that the server knows of it, if the process does not come back for it.
#[tokio::test]
async fn a_transaction_that_waits_for_its_job_holds_nothing_back() {
    if skipped_behind_a_pooler(NONE_IS_KEPT) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    asked(&floor, [("a", vec![]), ("b", vec![])]).await;
    let application = floor.sandbox.schema().to_string();
    let answer = proxy.hold_at(Point::after("commit").of(&application).following("settle_tx"));
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    answer.until_reached().await;
    let waits = format!(
        "select count(*) from pg_stat_activity where application_name = '{application}' and state = 'idle in transaction'
         and backend_xid is null and backend_xmin is null"
    );
    floor.until_number(&waits, 1).await;
    assert_eq!(floor.effects("a").await, 1, "the commit has taken place");
    answer.release();
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!((floor.effects("a").await, floor.effects("b").await), (1, 1));
}

/// S0-32: the answer of a commit is lost with which the next transaction began: neither effect is had twice, and none is lost.
#[tokio::test]
async fn a_lost_answer_repeats_nothing() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let events = asked(&floor, [("a", vec![]), ("b", vec![])]).await;
    let application = floor.sandbox.schema().to_string();
    let lost = proxy.cut_at(Point::after("commit").of(&application).following("settle_tx"));
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    let jobs = floor.until_settled().await;
    worker.stop().await;
    assert_eq!((lost.reached(), jobs.succeeded()), (1, 2), "{jobs:#?}");
    assert_eq!((floor.effects("a").await, floor.effects("b").await), (1, 1));
    assert_eq!(floor.job("till.book", events[0]).await.attempts, 1);
    assert_eq!(floor.stage.executions("till.book", "a"), 1);
}

/// S0-24: a commit that the server refuses, here by a deferred constraint, is followed by no transaction: the next handler has one that is begun
/// for it, and the one that was refused is tried again with its error.
#[tokio::test]
async fn nothing_follows_a_refused_commit() {
    let floor = Floor::new().await;
    floor.sandbox.execute("create table :schema.unique_one (id int unique deferrable initially deferred); insert into :schema.unique_one values (1)").await;
    let proxy = proxy::start().await;
    let refused = Do::Sql(format!("insert into {} values (1)", floor.sandbox.table("unique_one")));
    let events = asked(&floor, [("a", vec![refused, Do::Wait("end".into())]), ("b", vec![fail("not yet")])]).await;
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    floor.until_begun("till.book", "a", 2).await;
    let job = floor.job("till.book", events[0]).await;
    assert!(job.last_error.as_deref().is_some_and(|error| error.contains("unique_one_id_key")), "{job:?}");
    assert_eq!((job.attempts, floor.effects("a").await), (2, 0));
    floor.stage.open("end");
    floor.until_settled().await;
    // What failed behind it has left nothing: it was in a transaction of its own.
    assert_eq!((floor.effects("a").await, floor.effects("b").await), (1, 1));
    worker.stop().await;
}

/// Among its neighbours on the connection, too, a handler that ends its transaction by raw SQL is quarantined, also where it begins another
/// one; and theirs stand.
#[tokio::test]
async fn one_that_ends_its_transaction_is_quarantined_among_others() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let raw = |text: &str| vec![Do::Sql(text.to_owned())];
    let plans = [("a", vec![]), ("b", raw("commit")), ("c", vec![]), ("d", raw("commit; begin")), ("e", vec![])];
    let events = asked(&floor, plans).await;
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    floor.until_settled().await;
    worker.stop().await;
    for (nth, event) in events.into_iter().enumerate() {
        let job = floor.job("till.book", event).await;
        let expected = if nth % 2 == 1 { ("failed", Some("quarantined")) } else { ("succeeded", None) };
        assert_eq!((job.status.as_str(), job.reason.as_deref()), expected, "{job:?}");
    }
    for label in ["a", "c", "e"] {
        assert_eq!(floor.effects(label).await, 1, "{label}");
    }
}

#[subscriber(event = "work.asked", name = "till.frail", max_attempts = 2, backoff = fixed("1ms"), timeout = "400ms")]
async fn frail(asked: Asked, mut tx: Tx<'_>, attempt: Attempt, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.frail", &asked.label).await?;
    stage.play_by("till.frail", &asked.label, &asked.plan, attempt).await
}

/// A panic, a timeout, an error and a discarded message among others take their own effect back, and nobody else's.
#[tokio::test]
async fn each_failure_among_others_is_its_own() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let plans = [
        ("a", vec![]),
        ("panics", vec![Do::Panic("out of coins".into()), Do::Panic("out of coins".into())]),
        ("b", vec![]),
        ("hangs", vec![Do::Hang, Do::Hang]),
        ("c", vec![]),
        ("fails once", vec![fail("no change")]),
        ("discards", vec![Do::Discard]),
        ("d", vec![]),
    ];
    let outbox = floor.outbox(&["till.frail"]).build().await.unwrap();
    for (label, plan) in plans {
        ask(&outbox, label, plan).await;
    }
    let worker = worker(&floor, pool(&floor, &proxy), &["till.frail"]).await;
    let jobs = floor.until_settled().await;
    worker.stop().await;
    for (label, effects) in
        [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("fails once", 1), ("panics", 0), ("hangs", 0), ("discards", 0)]
    {
        assert_eq!(floor.effects(label).await, effects, "{label}: {jobs:#?}");
    }
    assert_eq!(jobs.succeeded(), 6, "{jobs:#?}");
}

async fn limits(stage: &Stage, handler: &str, tx: &mut Tx<'_>) -> HandlerResult {
    let text =
        "select current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')";
    let limits: String = sqlx::query_scalar(text).fetch_one(&mut **tx).await?;
    stage.note(format!("limits {handler} {limits}"));
    Ok(())
}

#[subscriber(event = "work.asked", name = "till.brief", timeout = "7s")]
async fn brief(_: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    limits(&stage, "till.brief", &mut tx).await
}

#[subscriber(event = "work.asked", name = "till.lasting", timeout = "9s")]
async fn lasting(_: Asked, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    limits(&stage, "till.lasting", &mut tx).await
}

/// Each handler has the limits of its own timeout, whichever handler's commit its transaction began with.
#[tokio::test]
async fn each_handler_has_its_own_limits() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let handlers = ["till.brief", "till.lasting"];
    ask_many(&floor.outbox(&handlers).build().await.unwrap(), 10, []).await;
    let worker = worker(&floor, pool(&floor, &proxy), &handlers).await;
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.stage.noted("limits till.brief "), vec!["8s 8s"; 10]);
    assert_eq!(floor.stage.noted("limits till.lasting "), vec!["10s 10s"; 10]);
}

/// S0-23: a job that was taken over while its handler ran leaves no effect of that run; what follows on the connection has its own.
#[tokio::test]
async fn a_stale_one_among_others_cannot_commit() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let events = asked(&floor, [("a", wait("stale").to_vec()), ("b", vec![])]).await;
    let worker = worker(&floor, pool(&floor, &proxy), &["till.book"]).await;
    floor.until_begun("till.book", "a", 1).await;
    // What a rescue by another node does, and that one is at work on it.
    floor
        .sandbox
        .execute(&format!(
            "update :schema.job_live set claim_id = gen_random_uuid() where event_id = '{}'",
            events[0].as_uuid()
        ))
        .await;
    floor.stage.open("stale");
    floor.until("till.book", events[1], "succeeded").await;
    assert_eq!((floor.effects("a").await, floor.effects("b").await), (0, 1));
    worker.stop().await;
}

/// A pool that the application closes in the middle of a backlog has its connections back at once; nothing is had twice, or half.
#[tokio::test]
async fn a_closed_pool_has_its_connection_back() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    ask_many(&floor.outbox(&["till.mark"]).build().await.unwrap(), 400, []).await;
    let pool = pool(&floor, &proxy);
    let worker = worker(&floor, pool.clone(), &["till.mark"]).await;
    eventually("some have run", async || (floor.stage.noted("marked ").len() > 10).then_some(())).await;
    tokio::time::timeout(Duration::from_secs(10), pool.close()).await.expect("nobody keeps a connection");
    worker.stop().await;
    let jobs = floor.sandbox.jobs().await;
    let effects = floor.sandbox.number("select count(*) from :schema.done").await;
    let labels = floor.sandbox.number("select count(distinct label) from :schema.done").await;
    assert_eq!((effects, labels), (i64::try_from(jobs.succeeded()).unwrap(), effects));
}
