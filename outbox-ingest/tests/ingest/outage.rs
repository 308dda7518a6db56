//! A database that is away, a process that dies, a word to stop.

use std::time::{Duration, Instant};

use outbox_testing::fault::{Proxy, Session};
use outbox_testing::{Sandbox, eventually};

use crate::floor::{Effects, Floor, Running, linking, policies};

/// S2-30: while the database is away nothing is acknowledged: the messages are held, then given back, and nothing more is received before
/// it answers. Then all of them are stored, each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_away_nothing_is_acknowledged() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = sqlx::postgres::PgPoolOptions::new().connect_with(proxy.options()).await.unwrap();
    let registry = linking(&["billing.book"]);
    let outbox = floor.sandbox.outbox_on(pool).registry(registry).state(Effects(String::new()));
    let outbox = outbox.build().await.unwrap();
    let ingest = floor.ingest_with(|builder| builder.hold(Duration::from_secs(1)).prefetch(10));
    let running = Running::start(&ingest, &outbox);
    floor.fake.send_all(&policies(10));
    floor.fake.until_acknowledged(10).await;
    let received = floor.fake.receives();
    proxy.all().refuse();
    proxy.all().cut();
    floor.fake.send_all(&policies(40));
    eventually("the batch in hand is given back", async || (floor.fake.given_back() >= 10).then_some(())).await;
    eventually("it says so", async || ingest.status().failing_for).await;
    // Long enough for several tries of a source that would be asked again.
    let refused = proxy.refused();
    eventually("the database is asked again", async || (proxy.refused() > refused + 2).then_some(())).await;
    assert_eq!((floor.fake.acknowledged().len(), floor.fake.given_back()), (10, 10));
    assert_eq!((floor.fake.receives(), floor.fake.in_hand()), (received + 1, 0));
    proxy.all().clear();
    floor.fake.until_acknowledged(50).await;
    running.stop().await;
    let status = ingest.status();
    assert_eq!((status.stored, status.given_back, status.failing_for), (50, 10, None));
    assert_eq!((floor.events().await, floor.jobs().await.len()), (50, 50));
}

/// A migration that is late, a grant that is missing: that the database answers is not enough. What was given back is not received again and
/// again, which would use up the deliveries that a broker allows a message, before it can be stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_do_not_go_round_while_the_tables_are_not_there() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = sqlx::postgres::PgPoolOptions::new().connect_with(proxy.options()).await.unwrap();
    let outbox = floor.sandbox.outbox_on(pool).registry(linking(&["billing.book"])).state(Effects(String::new()));
    let outbox = outbox.build().await.unwrap();
    floor.sandbox.execute("alter table :schema.quarantine rename to elsewhere").await;
    let ingest = floor.ingest_with(|builder| builder.hold(Duration::from_millis(300)));
    let running = Running::start(&ingest, &outbox);
    floor.fake.send(&policies(1)[0].clone().with("type", "parcel.sent.v1"));
    eventually("it is given back", async || (floor.fake.given_back() == 1).then_some(())).await;
    let tries = proxy.all().count("ingest");
    eventually("it is tried again", async || (proxy.all().count("ingest") > tries + 3).then_some(())).await;
    assert_eq!((floor.fake.receives(), floor.fake.given_back(), floor.fake.acknowledged().len()), (1, 1, 0));
    floor.sandbox.execute("alter table :schema.elsewhere rename to quarantine").await;
    floor.fake.until_acknowledged(1).await;
    running.stop().await;
    assert_eq!((floor.fake.receives(), floor.quarantined(&outbox).await.len()), (2, 1));
}

/// A connection that breaks between the commit and its answer: nobody knows, so it is stored again, which is harmless.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_harmless() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = sqlx::postgres::PgPoolOptions::new().connect_with(proxy.options()).await.unwrap();
    let outbox = floor.sandbox.outbox_on(pool).registry(linking(&["billing.book"])).state(Effects(String::new()));
    let outbox = outbox.build().await.unwrap();
    let trap = proxy.cut_at(outbox_testing::fault::Point::after("commit").following("ingest"));
    let ingest = floor.ingest();
    let running = Running::start(&ingest, &outbox);
    floor.fake.send_all(&policies(5));
    floor.fake.until_acknowledged(5).await;
    running.stop().await;
    assert_eq!(trap.reached(), 1);
    let status = ingest.status();
    assert_eq!((status.stored, status.duplicates), (0, 5));
    assert_eq!((floor.events().await, floor.jobs().await.len()), (5, 5));
}

/// A process that is killed with a batch in hand, before its commit: nothing of it is stored, nothing acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_in_the_middle_leaves_nothing() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let url = Sandbox::url().await;
    let lock = Session::lock_table(&url, &floor.sandbox.table("job_live"), "access exclusive").await.unwrap();
    let running = Running::start(&floor.ingest(), &outbox);
    floor.fake.send_all(&policies(5));
    floor.until_somebody_waits().await;
    running.kill().await;
    lock.rollback().await.unwrap();
    let ended = async || (floor.locks("mode = 'RowExclusiveLock'").await == 0).then_some(());
    eventually("its transaction has ended", ended).await;
    assert_eq!((floor.events().await, floor.fake.acknowledged().len()), (0, 0));
}

/// S2-52: the word to stop ends it within its time, also when the database does not answer: what is in hand is given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_is_bounded() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let url = Sandbox::url().await;
    let lock = Session::lock_table(&url, &floor.sandbox.table("job_live"), "access exclusive").await.unwrap();
    let ingest =
        floor.ingest_with(|builder| builder.shutdown(Duration::from_millis(100)).hold(Duration::from_mins(10)));
    let running = Running::start(&ingest, &outbox);
    floor.fake.send_all(&policies(5));
    floor.until_somebody_waits().await;
    let began = Instant::now();
    running.stop().await;
    // Without a bound it would hold them for ten minutes.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!((floor.fake.given_back(), floor.fake.in_hand(), ingest.status().held), (5, 0, 0));
    lock.rollback().await.unwrap();
    // Nothing was lost, and nothing is there twice.
    let running = Running::start(&ingest, &outbox);
    floor.fake.until_acknowledged(5).await;
    running.stop().await;
    assert_eq!((floor.events().await, floor.jobs().await.len()), (5, 5));
}

/// With nothing in hand, it ends at once.
#[tokio::test]
async fn an_idle_ingest_stops_at_once() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let running = Running::start(&floor.ingest(), &outbox);
    tokio::task::yield_now().await;
    running.stop().await;
}
