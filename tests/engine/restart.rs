//! The server goes away and comes back, or comes back as another: the engine goes on without help.

use std::time::{Duration, Instant};

use outbox::Outbox;
use outbox_testing::fault::Proxy;
use outbox_testing::server::{Options, Replication, Server};
use outbox_testing::{Logs, eventually};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool};

use crate::floor::{Asked, Do, Stage, Worker, ask, settings};

const SCHEMA: &str = "restart";

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// A server of the test's own, migrated.
async fn server() -> (Server, PgPool) {
    let options = Options { durable: true, ..Options::default() };
    let server = blocking(move || Server::start(&options).unwrap()).await;
    let pool = pool(server.url()).await;
    outbox::migrate_schema(&pool, SCHEMA).await.unwrap();
    sqlx::query("create table restart.done (handler text not null, label text not null)").execute(&pool).await.unwrap();
    (server, pool)
}

async fn pool(url: &str) -> PgPool {
    PgPoolOptions::new().max_connections(8).connect(url).await.unwrap()
}

async fn outbox(pool: &PgPool, stage: &Stage, handlers: &[&str]) -> Outbox {
    let builder = Outbox::builder(pool.clone()).schema(SCHEMA);
    settings(builder, handlers, stage.clone()).lease(Duration::from_secs(10)).build().await.unwrap()
}

async fn number(pool: &PgPool, text: &'static str) -> Option<i64> {
    sqlx::query_scalar(text).fetch_one(pool).await.ok()
}

/// Publishes when the pool has found the server again.
async fn ask_again(outbox: &Outbox, label: &str) {
    let asked = Asked { label: label.to_owned(), plan: Vec::new() };
    eventually("publishing works", async || {
        let mut tx = outbox.begin().await.ok()?;
        outbox.publish(&mut tx, &asked).await.ok()?;
        tx.commit().await.ok()
    })
    .await;
}

/// Q34: the server restarts while a job runs for long: the lease stands in the table and survives it, so the job goes on where it
/// is, and nobody runs it a second time.
#[tokio::test]
async fn a_lease_survives_a_restart_of_the_server() {
    let (mut server, pool) = server().await;
    let stage = Stage::new("restart.done".to_owned(), false);
    let first = Worker::start(outbox(&pool, &stage, &["desk.patient"]).await);
    ask(&first.outbox, "a", [Do::Wait("end".into())]).await;
    eventually("it runs", async || (stage.running() == 1).then_some(())).await;
    let second = Worker::start(outbox(&pool, &stage, &["desk.patient"]).await);
    let latest =
        "select (extract(epoch from max(expires_at)) * 1000)::bigint from restart.worker where dead_at is null";
    let before = number(&pool, latest).await.unwrap();
    let _server = blocking(move || {
        server.restart().unwrap();
        server
    })
    .await;
    eventually("both have renewed since", async || {
        let earliest =
            "select (extract(epoch from min(expires_at)) * 1000)::bigint from restart.worker where dead_at is null";
        (number(&pool, earliest).await? > before).then_some(())
    })
    .await;
    assert_eq!(number(&pool, "select count(*) from restart.worker").await, Some(2), "under the ids that they had");
    ask_again(&first.outbox, "b").await;
    eventually("the other job has ended", async || {
        (number(&pool, "select count(*) from restart.job where status = 'succeeded'").await? == 1).then_some(())
    })
    .await;
    assert_eq!((stage.running(), stage.executions("desk.patient", "a")), (1, 1));
    stage.open("end");
    eventually("it has ended", async || {
        (number(&pool, "select count(*) from restart.job where status = 'succeeded' and attempts = 1").await? == 2)
            .then_some(())
    })
    .await;
    assert_eq!(stage.executions("desk.patient", "a"), 1);
    first.stop().await;
    second.stop().await;
}

/// When a server takes connections again, tried every few milliseconds.
async fn first_connection(url: &str) -> Instant {
    loop {
        match tokio::time::timeout(Duration::from_secs(1), PgConnection::connect(url)).await {
            Ok(Ok(connection)) => {
                let connected = Instant::now();
                drop(connection);
                return connected;
            }
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// B10: the server crashes under load and is away for long enough that every service waits for as long as it ever does. Within five
/// seconds of the first connection that it takes, a job that is published then has run; what was published before ends too, and has no
/// effect twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_within_five_seconds_of_the_servers_return() {
    let (mut server, pool) = server().await;
    let stage = Stage::new("restart.done".to_owned(), false);
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(Worker::start(outbox(&pool, &stage, &["till.book", "desk.note"]).await));
    }
    let load = workers[0].outbox.clone();
    let publisher = tokio::spawn(async move {
        let mut published = 0_usize;
        loop {
            let asked = Asked { label: format!("n{published}"), plan: vec![Do::Slow(20)] };
            let sent = async {
                let mut tx = load.begin().await.ok()?;
                load.publish(&mut tx, &asked).await.ok()?;
                tx.commit().await.ok()
            };
            published += usize::from(sent.await.is_some());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    eventually("they work", async || (stage.noted("ended ").len() > 200).then_some(())).await;
    let url = server.url().to_owned();
    let server = blocking(move || {
        server.immediate().unwrap();
        server
    })
    .await;
    eventually("every service waits for long", async || {
        let troubles = workers[0].outbox.health().troubles;
        troubles.iter().any(|trouble| trouble.failures >= 6).then_some(())
    })
    .await;
    let back = tokio::spawn({
        let url = url.clone();
        async move { first_connection(&url).await }
    });
    let mut server = server;
    let _server = blocking(move || {
        server.restart().unwrap();
        server
    })
    .await;
    let back = back.await.unwrap();
    publisher.abort();
    let fresh = Outbox::builder(PgPool::connect(&url).await.unwrap()).schema(SCHEMA);
    let fresh = settings(fresh, &["till.book", "desk.note"], stage.clone()).build().await.unwrap();
    ask(&fresh, "fresh", []).await;
    eventually("the fresh one and an old one have ended", async || {
        let fresh = stage.executions("till.book", "fresh") > 0 && stage.executions("desk.note", "fresh") > 0;
        fresh.then_some(())
    })
    .await;
    let took = back.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    eventually("nothing is left", async || {
        (number(&pool, "select count(*) from restart.job_live").await? == 0).then_some(())
    })
    .await;
    let twice = "select count(*) from (select label from restart.done group by label having count(*) > 1) t";
    assert_eq!(number(&pool, twice).await, Some(0), "an effect is there twice");
    for worker in workers {
        worker.stop().await;
    }
}

/// Q22: a worker that is started against a hot standby says so once a step, each step longer than the one before, and works once the
/// standby is promoted.
#[tokio::test]
async fn a_standby_is_waited_for_and_worked_on_when_it_is_promoted() {
    let (mut primary, pool) = server().await;
    let mut replica = blocking(move || {
        let replica = primary.replica(Replication::Asynchronous).unwrap();
        (primary, replica)
    })
    .await;
    let proxy = Proxy::start(replica.0.url()).unwrap();
    let through = crate::restart::pool(&proxy.url()).await;
    let stage = Stage::new("restart.done".to_owned(), false);
    let outbox = outbox(&through, &stage, &["desk.note"]).await;
    ask(&outbox, "a", []).await;
    let standby = PgPool::connect(replica.1.url()).await.unwrap();
    eventually("the standby has it", async || {
        (number(&standby, "select count(*) from restart.job_live").await? == 1).then_some(())
    })
    .await;
    drop(pool);
    proxy.point_to(replica.1.url()).unwrap();
    proxy.all().cut();
    let logs = Logs::warnings();
    let begun = Instant::now();
    let worker = Worker::start(outbox);
    eventually("it has said so some times", async || (logs.lines().len() >= 6).then_some(())).await;
    // Five steps: a tenth of a second, and twice as long each time.
    assert!(begun.elapsed() >= Duration::from_millis(3_100), "{:?}: {:#?}", begun.elapsed(), logs.lines());
    assert!(logs.lines().iter().all(|line| line.contains("read-only")), "{:#?}", logs.lines());
    let _servers = blocking(move || {
        replica.1.promote().unwrap();
        replica
    })
    .await;
    eventually("the job has ended", async || {
        (number(&standby, "select count(*) from restart.job where status = 'succeeded'").await? == 1).then_some(())
    })
    .await;
    worker.stop().await;
}
