//! The claim statement alone, on a connection at rest: from the commit's return until its answer is there.

use std::time::Instant;

use outbox::Outbox;
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use super::super::bell::{self, ANSWER};
use super::super::{Cue, Settings, rhythm, seed};
use super::claim::claim;
use super::settle::settle;
use crate::protocol::Done;

/// Of a claim, as the default profile has it.
const BATCH: i64 = 100;

pub(in super::super) async fn latency(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let samples = settings.number("samples")?;
    seed::catalogue().await?;
    // What is published is ours; nobody is told of it.
    let publisher = Outbox::builder(super::prepared(2).await?).poll_only().build().await?;
    let mut connection = PgConnection::connect_with(&super::options()?).await?;
    let worker = Uuid::new_v4();
    let mut latencies_ms = Vec::new();
    let mut began = Instant::now();
    for number in 0..rhythm::WARM_UP + samples {
        if number == rhythm::WARM_UP {
            cue.ready().await?;
            began = Instant::now();
        }
        rhythm::pause(number).await;
        let committed = bell::ring(&publisher, number).await?;
        let claim_id = Uuid::new_v4();
        let claimed = claim(&mut connection, worker, claim_id, ANSWER, BATCH).await?;
        let there = Instant::now();
        let jobs = claimed.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
        let settled = settle(&mut connection, claim_id, &jobs).await?;
        anyhow::ensure!(settled == 1, "{settled} jobs were claimed and settled instead of one");
        if number >= rhythm::WARM_UP {
            latencies_ms.push(rhythm::milliseconds(committed, there));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    cue.done(Done { seconds, jobs: samples, latencies_ms, ..Done::default() }).await
}
