//! Each primitive by itself, as a service takes them up one by one.

use std::io;
use std::time::Duration;

use outbox::prelude::*;
use outbox::{Executor, Leases, Registry, SessionLock};
use outbox_testing::{Sandbox, eventually};

use crate::floor::{Asked, Stage};

/// All that this service has of jobs: the time.
#[scheduled(every = "1h", name = "standalone.tick", idempotent = "it only notes")]
async fn tick(tick: Tick, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("tick {}", tick.at.timestamp()));
    Ok(())
}

/// S2-73: the outbox alone: a service that only publishes, into events that somebody else reads, links no handler, runs no worker and has no
/// connection but its pool's: no wake, no lease, no listener.
#[tokio::test]
async fn the_outbox_alone() {
    let sandbox = Sandbox::new().await;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_with(sandbox.options()).await.unwrap();
    let registry = Registry::linked().with_subscribers(|_| false);
    let outbox = sandbox.outbox_on(pool).registry(registry).poll_only().build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let asked = Asked { label: "a".into(), plan: Vec::new() };
    assert_eq!(outbox.publish(&mut tx, &asked).await.unwrap().jobs, 0);
    tx.commit().await.unwrap();
    assert_eq!(sandbox.number("select count(*) from :schema.event").await, 1);
    assert_eq!(sandbox.number("select count(*) from :schema.worker").await, 0);
    assert!(outbox.run(async {}).await.is_err(), "there is nothing to run");
}

/// S2-73: schedules alone: a service with a scheduled function and nothing else takes its ticks, publishes nothing and receives nothing.
#[tokio::test]
async fn a_schedule_alone() {
    let sandbox = Sandbox::new().await;
    let stage = Stage::new(sandbox.table("done"), false);
    let registry = Registry::linked().with_subscribers(|one| one.name == "standalone.tick");
    let outbox = sandbox.outbox().registry(registry).state(stage.clone()).build().await.unwrap();
    sandbox.execute("update :schema.schedule set next_tick = now() - interval '1 second'").await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = outbox.clone();
    let worker = tokio::spawn(async move { running.run(async { drop(stopped.await) }).await });
    eventually("the tick ran", async || (stage.noted("tick ").len() == 1).then_some(())).await;
    drop(stop);
    worker.await.unwrap().unwrap();
    assert_eq!(sandbox.number("select count(*) from :schema.event").await, 0);
}

/// S2-73: the executor alone: no database, no outbox.
#[tokio::test]
async fn the_executor_alone() {
    let executor = Executor::new(1);
    executor.start("work", async |_| Ok::<_, io::Error>(())).await.unwrap().ended().await.unwrap();
    assert_eq!(executor.shut_down(Duration::from_secs(20)).await.dropped, 0);
}

/// S2-73: leases and session locks alone: a pool, and, for leases, their table. (The inbox alone: `inbox.rs`.)
#[tokio::test]
async fn leases_and_locks_alone() {
    let sandbox = Sandbox::new().await;
    let leases = Leases::new(sandbox.pool()).schema(sandbox.schema()).unwrap();
    assert_eq!(leases.lease("alone").run(async |held| held.token()).await.unwrap(), 1);
    let lock = SessionLock::new(sandbox.pool(), format!("alone in {}", sandbox.schema()));
    assert_eq!(lock.try_run(async || 7).await.unwrap(), 7);
    assert_eq!(sandbox.number("select count(*) from :schema.worker").await, 0);
}
