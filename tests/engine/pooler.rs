//! Through a transaction pooler, and past it.

use std::time::Duration;

use outbox::health::Listening;
use outbox::{Outbox, Profile};
use outbox_testing::fault::Proxy;
use outbox_testing::server::Pooler;
use outbox_testing::{Sandbox, eventually};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::floor::{Do, Floor, Worker, ask, ask_many, settings};
use crate::process::Process;
use crate::proxy;

const HOUR: Duration = Duration::from_hours(1);

/// A pooler of the test's own before the tests' server.
pub async fn pooler() -> Pooler {
    let server = Sandbox::server_url().await;
    tokio::task::spawn_blocking(move || Pooler::before(&server))
        .await
        .unwrap()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// S1-25: migrating, declaring, publishing, claiming, a handler that takes the transaction and one that does not, retrying, settling,
/// and the rescue of a killed process's job work through a pooler that lends a session for one transaction.
#[tokio::test]
async fn the_engine_works_through_a_transaction_pooler() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let pool = PgPool::connect(pooler.url()).await.unwrap();
    outbox::migrate_schema(&pool, floor.sandbox.schema()).await.unwrap();
    let handlers = ["till.book", "desk.note"];
    let through = || {
        let builder = Outbox::builder(pool.clone()).schema(floor.sandbox.schema()).transaction_pooler();
        settings(builder, &handlers, floor.stage.clone())
    };
    let first = Process::start_through(pooler.url(), &floor, &handlers);
    first.until("ready").await;
    let outbox = through().build().await.unwrap();
    let event = ask(&outbox, "dies", [Do::Hang]).await;
    first.until("began till.book dies").await;
    let worker = Worker::start(outbox);
    first.signal("KILL");
    let rescued = floor.until("till.book", event, "succeeded").await;
    assert_eq!((rescued.attempts, rescued.crashes, floor.effects("dies").await), (2, 1, 1));
    let event = ask(&worker.outbox, "fails", [Do::Fail("once".into())]).await;
    let retried = floor.until("till.book", event, "succeeded").await;
    assert_eq!((retried.attempts, floor.effects("fails").await), (2, 1));
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 4, "{jobs:#?}");
    worker.stop().await;
    floor.until_number("select count(*) from :schema.worker where dead_at is null", 0).await;
}

/// Through a pooler the engine leaves nothing in a session, which is somebody else's in the next moment, and relies on nothing that is
/// left there: it neither sets nor listens outside of a transaction. A claim is three round trips: begin, the claim, commit.
#[tokio::test]
async fn through_a_pooler_nothing_is_left_in_a_session() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let proxy = Proxy::start(pooler.url()).unwrap();
    let builder = Outbox::builder(proxy::pool(&proxy)).schema(floor.sandbox.schema()).transaction_pooler();
    let worker = Worker::start(settings(builder, &["till.book"], floor.stage.clone()).build().await.unwrap());
    let event = ask(&worker.outbox, "a", []).await;
    floor.until("till.book", event, "succeeded").await;
    let used = ["renew", "rescue_mark", "backfill_lock", "wake"];
    eventually("the services have worked", async || used.iter().all(|name| proxy.all().count(name) > 0).then_some(()))
        .await;
    worker.stop().await;
    for name in ["set", "listen", "discard"] {
        assert_eq!(proxy.all().count(name), 0, "{name}");
    }
    let claims = proxy.of("outbox claim");
    assert_eq!(claims.statements().keys().map(String::as_str).collect::<Vec<_>>(), ["begin", "claim", "commit"]);
    assert!(claims.count("claim") > 0);
    assert_eq!((claims.count("begin"), claims.count("commit")), (claims.count("claim"), claims.count("claim")));
}

/// The application's pool goes through the pooler and the engine past it: then it listens, and a commit elsewhere starts the job
/// with an hour between polls.
#[tokio::test]
async fn past_the_pooler_the_engine_listens() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let pool = PgPool::connect(pooler.url()).await.unwrap();
    let past = || {
        let direct = Outbox::builder(pool.clone()).direct(floor.sandbox.pool().connect_options().as_ref().clone());
        settings(direct.schema(floor.sandbox.schema()), &["till.book"], floor.stage.clone()).poll_interval(HOUR)
    };
    let (outbox, elsewhere) = (past().build().await.unwrap(), past().build().await.unwrap());
    let worker = Worker::start(outbox.clone());
    eventually("it hears", async || (outbox.health().listening == Listening::Hears).then_some(())).await;
    let event = ask(&elsewhere, "a", []).await;
    floor.until("till.book", event, "succeeded").await;
    worker.stop().await;
}

/// The same for high throughput: a transaction that began with the commit before it keeps its session of the pooler, as any open one does, and
/// each handler has its effect once.
#[tokio::test]
async fn transactions_follow_each_other_through_a_pooler() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let proxy = Proxy::start(pooler.url()).unwrap();
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), 20, []).await;
    let direct = Outbox::builder(proxy::pool(&proxy)).direct(floor.sandbox.pool().connect_options().as_ref().clone());
    let outbox = settings(direct.schema(floor.sandbox.schema()), &["till.book"], floor.stage.clone());
    let outbox = outbox.profile(Profile::high_throughput()).concurrency(2).build().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    let sent = proxy.all();
    assert!(sent.count("settle_tx") >= 20 && sent.count("begin") < sent.count("settle_tx"), "{:?}", sent.statements());
    let effects = "select count(*) from :schema.done";
    assert_eq!(floor.sandbox.number(effects).await, 20);
    assert_eq!(floor.sandbox.number("select count(distinct label) from :schema.done").await, 20);
}

/// Told of a pooler, none keeps its session for a transaction of the next handler: each begins for itself.
#[tokio::test]
async fn no_transaction_waits_in_a_pooler_that_it_was_told_of() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let proxy = Proxy::start(pooler.url()).unwrap();
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), 20, []).await;
    let options = proxy.options().application_name("application");
    let pool = PgPoolOptions::new().max_connections(2).connect_lazy_with(options);
    let builder = Outbox::builder(pool).schema(floor.sandbox.schema()).transaction_pooler();
    let outbox = settings(builder, &["till.book"], floor.stage.clone()).profile(Profile::high_throughput());
    let worker = Worker::start(outbox.concurrency(1).build().await.unwrap());
    floor.until_settled().await;
    worker.stop().await;
    let sent = proxy.of("application");
    assert!(sent.count("settle_tx") >= 20 && sent.count("begin") >= sent.count("settle_tx"), "{:?}", sent.statements());
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, 20);
}

/// O18: behind a transaction pooler that it was not told of, the worker finds out that it hears nothing, and polls.
#[tokio::test]
async fn behind_a_pooler_that_it_was_not_told_of_it_finds_out() {
    let floor = Floor::new().await;
    let pooler = pooler().await;
    let pool = PgPool::connect(pooler.url()).await.unwrap();
    let builder = Outbox::builder(pool).schema(floor.sandbox.schema());
    let outbox = settings(builder, &["till.book"], floor.stage.clone()).poll_interval(HOUR).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    eventually("it knows that it is deaf", async || (outbox.health().listening == Listening::Deaf).then_some(())).await;
    let event = ask(&floor.outbox(&["till.book"]).build().await.unwrap(), "a", []).await;
    floor.until("till.book", event, "succeeded").await;
    worker.stop().await;
}

/// A builder that stands in a log, by its `Debug`, says where the engine goes and not by which password.
#[tokio::test]
async fn the_password_of_the_direct_server_stays_out_of_debug() {
    let floor = Floor::new().await;
    let direct = PgConnectOptions::new().host("db.internal").password("tell-nobody");
    let said = format!("{:?}", floor.outbox(&["till.book"]).direct(direct));
    assert!(said.contains("db.internal") && !said.contains("tell-nobody"), "{said}");
}

/// One says that the engine goes through the pooler, the other that it goes past it.
#[tokio::test]
async fn through_the_pooler_and_past_it_contradict_each_other() {
    let floor = Floor::new().await;
    let direct = floor.sandbox.pool().connect_options().as_ref().clone();
    let error = floor.outbox(&["till.book"]).transaction_pooler().direct(direct).build().await.unwrap_err();
    assert!(error.to_string().contains("`.transaction_pooler` and `.direct` contradict each other"), "{error}");
}
