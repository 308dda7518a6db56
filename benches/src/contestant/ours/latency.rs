//! latency: one event at a time to a worker at rest, from the commit's return to the handler's start.

use std::thread;
use std::time::Instant;

use anyhow::Context as _;
use outbox::{BuildError, Outbox};
use sqlx::PgPool;
use tokio::sync::oneshot;

use super::super::bell::{self, PORCH};
use super::super::{Cue, Settings, database, pool, rhythm, seed};
use crate::protocol::Done;

/// Publisher and worker are one outbox, so that the worker is woken by a kick.
pub(in super::super) async fn together(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    seed::catalogue().await?;
    let pool = pool(database()?, 2).await?;
    let outbox = outbox(&pool).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = outbox.clone();
    let running = tokio::spawn(async move { worker.run(async move { drop(stopped.await) }).await });
    let done = ring(&cue, settings, &pool, &outbox).await?;
    drop(stop);
    running.await??;
    cue.done(done).await
}

/// The worker has a runtime, a pool and an outbox of its own, as it has in a process of its own: it is woken by NOTIFY.
pub(in super::super) async fn apart(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    seed::catalogue().await?;
    let pool = pool(database()?, 2).await?;
    let publisher = outbox(&pool).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let elsewhere = thread::spawn(move || work_elsewhere(stopped));
    let done = ring(&cue, settings, &pool, &publisher).await?;
    drop(stop);
    let ended = tokio::task::spawn_blocking(move || elsewhere.join()).await?;
    ended.map_err(|_| anyhow::anyhow!("the worker's thread panicked"))??;
    cue.done(done).await
}

fn work_elsewhere(stopped: oneshot::Receiver<()>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let worker = outbox(&pool(database()?, 2).await?).await?;
        Ok(worker.run(async move { drop(stopped.await) }).await?)
    })
}

async fn outbox(pool: &PgPool) -> Result<Outbox, BuildError> {
    Outbox::builder(pool.clone()).modules([PORCH]).build().await
}

async fn ring(cue: &Cue, settings: &Settings, pool: &PgPool, outbox: &Outbox) -> anyhow::Result<Done> {
    let samples = settings.number("samples")?;
    let mut heard = bell::listen()?;
    let mut latencies_ms = Vec::new();
    let mut began = Instant::now();
    for number in 0..rhythm::WARM_UP + samples {
        if number == rhythm::WARM_UP {
            cue.ready().await?;
            began = Instant::now();
        }
        rhythm::pause(number).await;
        let committed = bell::ring(outbox, number).await?;
        let (bell, start) = heard.recv().await.context("the worker ended")?;
        anyhow::ensure!(bell == number, "event {bell} came to its handler twice");
        rhythm::at_rest(pool).await?;
        if number >= rhythm::WARM_UP {
            latencies_ms.push(rhythm::milliseconds(committed, start));
        }
    }
    Ok(Done { seconds: began.elapsed().as_secs_f64(), jobs: samples, latencies_ms, ..Done::default() })
}
