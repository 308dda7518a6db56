//! Connections that are dead without saying so: a firewall forgot them, or the machine at the other end is gone. Every service has
//! a deadline on what it waits for, and goes on over a new connection.

use std::time::{Duration, Instant};

use outbox_testing::fault::Proxy;
use outbox_testing::{Sandbox, eventually};
use sqlx::postgres::PgPoolOptions;

use crate::floor::{Do, Floor, Worker, ask, living_workers};

/// A worker behind a proxy, whose services have all used their connection once.
async fn worker(floor: &Floor, proxy: &Proxy, lease: Duration) -> Worker {
    let pool = PgPoolOptions::new().max_connections(4).connect_lazy_with(proxy.options());
    let outbox = floor.outbox_on(pool, &["desk.note", "till.book", "desk.patient"]).lease(lease).build().await.unwrap();
    let worker = Worker::start(outbox);
    let event = ask(&worker.outbox, "first", []).await;
    for handler in ["desk.note", "till.book", "desk.patient"] {
        floor.until(handler, event, "succeeded").await;
    }
    let used = ["claim", "settle", "renew", "rescue_mark"];
    eventually("all services have worked", async || used.iter().all(|text| proxy.all().count(text) > 0).then_some(()))
        .await;
    worker
}

/// The connections of one service are forgotten; what is published then is run to its end all the same.
async fn goes_on_without(application: &str) {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(10)).await;
    let elsewhere = floor.outbox(&["desk.note", "till.book", "desk.patient"]).build().await.unwrap();
    proxy.of(application).forget();
    let event = ask(&elsewhere, "behind", []).await;
    for handler in ["desk.note", "till.book", "desk.patient"] {
        let job = floor.until(handler, event, "succeeded").await;
        assert_eq!(job.crashes, 0, "{handler}");
    }
    worker.stop().await;
}

/// O17: the claims go on.
#[tokio::test]
async fn a_claim_that_is_not_answered_is_sent_anew() {
    goes_on_without("outbox claim").await;
}

/// O9: outcomes are written.
#[tokio::test]
async fn a_settle_that_is_not_answered_is_sent_anew() {
    goes_on_without("outbox settle").await;
}

/// A handler that takes the transaction gets another connection of the application's pool.
#[tokio::test]
async fn a_pool_of_dead_connections_costs_no_attempt() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(10)).await;
    let elsewhere = floor.outbox(&["desk.note", "till.book", "desk.patient"]).build().await.unwrap();
    assert!(proxy.of("").open() > 0, "the application's pool has connections");
    proxy.of("").forget();
    let event = ask(&elsewhere, "behind", []).await;
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.effects("behind").await), (1, 0, 1));
    worker.stop().await;
}

/// O8: a renewal that is not answered leaves time for another over a new connection: the lease is kept, and the execution with it.
#[tokio::test]
async fn a_renewal_that_is_not_answered_does_not_cost_the_lease() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(4)).await;
    let event = ask(&worker.outbox, "a", [Do::Wait("gate".into())]).await;
    floor.until_begun("desk.note", "a", 1).await;
    let before = living_workers(&floor).await;
    proxy.of("outbox renew").forget();
    let renewed = proxy.of("outbox renew").count("renew");
    // The first of these is lost; the others are answered, and by the last of them the lease has lasted longer than its length.
    eventually("it was renewed again and again", async || {
        (proxy.of("outbox renew").count("renew") >= renewed + 5).then_some(())
    })
    .await;
    assert_eq!(living_workers(&floor).await, before);
    floor.stage.open("gate");
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, floor.stage.executions("desk.note", "a")), (1, 1));
    worker.stop().await;
}

/// Q3: the upkeep goes on: what a dead worker held is taken over.
#[tokio::test]
async fn a_rescue_that_is_not_answered_is_sent_anew() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(10)).await;
    floor
        .sandbox
        .execute(
            "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'gone', '{}', now())",
        )
        .await;
    proxy.of("outbox upkeep").forget();
    floor.until_number("select count(*) from :schema.worker where name = 'gone' and dead_at is null", 0).await;
    worker.stop().await;
}

/// A wake that is not answered holds up neither the commit that asked for it nor the next one.
#[tokio::test]
async fn a_wake_that_is_not_answered_holds_nobody_up() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(10)).await;
    proxy.of("outbox wake").forget();
    for label in ["a", "b", "c"] {
        let event = ask(&worker.outbox, label, []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    worker.stop().await;
}

/// Every connection is dead at once and nobody says so, as when a failover takes the address to another machine: all of it works
/// again within five seconds, claims, completions in the handler's transaction, outcomes and rescue.
#[tokio::test]
async fn everything_works_again_within_five_seconds_of_a_silent_failover() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let worker = worker(&floor, &proxy, Duration::from_secs(10)).await;
    let elsewhere = floor.outbox(&["desk.note", "till.book", "desk.patient"]).build().await.unwrap();
    let event = ask(&elsewhere, "within", [Do::Wait("gate".into())]).await;
    floor.until_begun("desk.note", "within", 1).await;
    floor.until_begun("till.book", "within", 1).await;
    proxy.all().forget();
    let accepts = Instant::now();
    floor.stage.open("gate");
    floor
        .sandbox
        .execute(
            "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'gone', '{}', now())",
        )
        .await;
    let behind = ask(&elsewhere, "behind", []).await;
    for handler in ["desk.note", "till.book", "desk.patient"] {
        floor.until(handler, behind, "succeeded").await;
        assert!(accepts.elapsed() < Duration::from_secs(5), "{handler}: {:?}", accepts.elapsed());
    }
    floor.until("desk.note", event, "succeeded").await;
    floor.until_number("select count(*) from :schema.worker where name = 'gone' and dead_at is null", 0).await;
    assert!(accepts.elapsed() < Duration::from_secs(5), "{:?}", accepts.elapsed());
    worker.stop().await;
}
