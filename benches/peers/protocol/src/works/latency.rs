//! One job at a time to a worker that has nothing to do.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::drain::completed;
use crate::arguments::Arguments;
use crate::dialogue::Done;
use crate::{Payload, Peer, handled, works};

const WARM_UP: u64 = 20;

pub(super) async fn run<P: Peer>(peer: P, arguments: &Arguments) -> Result<Done> {
    let samples = arguments.number("samples").or(arguments.number("jobs")).unwrap_or(200);
    let mut starts = handled::each(WARM_UP + samples);
    peer.work().await?;
    let mut committed_ms = Vec::new();
    let mut enqueued_ms = Vec::new();
    let mut begun = Instant::now();
    for number in 0..WARM_UP + samples {
        if number == WARM_UP {
            peer.analyze().await?;
            works::ready::<P>()?;
            begun = Instant::now();
        }
        tokio::time::sleep(pause(number)).await;
        let enqueue = Instant::now();
        peer.enqueue(Payload::new(number)).await?;
        let committed = Instant::now();
        let start = starts.recv().await.context("the worker ended")?;
        completed(&peer).await?;
        if number >= WARM_UP {
            committed_ms.push(milliseconds(committed, start));
            enqueued_ms.push(milliseconds(enqueue, start));
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let latencies =
        Done { latencies_ms: Some(committed_ms), enqueue_latencies_ms: Some(enqueued_ms), ..Done::default() };
    Ok(Done { seconds, jobs: samples, runs: Some(handled::runs()), ..latencies })
}

/// Long enough for the worker to come to rest, and each time another part of whatever interval it polls in.
fn pause(number: u64) -> Duration {
    Duration::from_millis(40 + number * 37 % 100)
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    match to.checked_duration_since(from) {
        Some(after) => after.as_secs_f64() * 1e3,
        None => -from.duration_since(to).as_secs_f64() * 1e3,
    }
}
