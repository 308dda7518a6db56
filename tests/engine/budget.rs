//! Handlers that use up what the runtime gives a task in one turn: after some hundred operations that are ready at once, it makes the task wait.

use std::sync::Arc;

use outbox::prelude::*;
use tokio::sync::Semaphore;

use crate::floor::{Floor, Stage, Worker};

/// Takes so many turns of a semaphore that is free, and goes on for ever if there is no end.
#[job("mill.grind")]
struct Grind {
    turns: Option<u32>,
}

#[job("mill.sift")]
struct Sift {
    turns: u32,
}

#[job("mill.weigh")]
struct Weigh {
    turns: u32,
}

async fn grind_for(turns: impl Iterator<Item = u32>) {
    let stone = Arc::new(Semaphore::new(1));
    for _ in turns {
        drop(stone.acquire().await.unwrap());
    }
}

#[subscriber(job = "mill.grind", idempotent = "only notes", timeout = "2s", max_attempts = 1)]
async fn grind(grind: Grind, State(stage): State<Stage>) -> HandlerResult {
    match grind.turns {
        Some(turns) => grind_for(0..turns).await,
        None => grind_for((0..1).cycle()).await,
    }
    stage.note("ground");
    Ok(())
}

#[subscriber(job = "mill.sift", idempotent = "only notes", timeout = "2s", max_attempts = 1, batch = 10)]
async fn sift(sifts: Batch<Sift>, State(stage): State<Stage>) -> HandlerResult {
    for sift in sifts {
        grind_for(0..sift.turns).await;
        stage.note("sifted");
    }
    Ok(())
}

#[subscriber(job = "mill.weigh", timeout = "2s", max_attempts = 1)]
async fn weigh(weigh: Weigh, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    grind_for(0..weigh.turns).await;
    sqlx::query("select 1").execute(&mut *tx).await?;
    grind_for(0..weigh.turns).await;
    stage.note("weighed");
    Ok(())
}

/// A handler that goes on through more than one turn ends as any other, alone, with others in one call, and in a transaction. (Its first
/// turn had been taken for its rest, so that it stood still until its time was up.)
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_uses_up_its_turn_goes_on() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["mill.grind", "mill.sift", "mill.weigh"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    for turns in [100, 127, 128, 129, 300, 1_000] {
        outbox.enqueue(&mut tx, &Grind { turns: Some(turns) }).await.unwrap();
        outbox.enqueue(&mut tx, &Sift { turns }).await.unwrap();
        outbox.enqueue(&mut tx, &Weigh { turns }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.failed()), (18, 0), "{jobs:?}");
    let noted = ["ground", "sifted", "weighed"].map(|note| floor.stage.noted(note).len());
    assert_eq!(noted, [6, 6, 6]);
}

/// A handler that is never at rest has its time like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_is_never_at_rest_is_timed_out() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["mill.grind"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &Grind { turns: None }).await.unwrap();
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    let error = crate::sql::text(&floor.sandbox, "select last_error from :schema.job_failed").await;
    assert!(error.contains("the handler timed out after 2s"), "{error}");
}
