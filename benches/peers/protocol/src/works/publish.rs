//! Events, each a transaction that enqueues five jobs, by eight connections at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Result;
use tokio::task::JoinSet;

use super::JOBS_AN_EVENT;
use crate::arguments::Arguments;
use crate::dialogue::Done;
use crate::{PUBLISHERS, Peer, works};

const WARM_UP: u64 = 400;

pub(super) async fn run<P: Peer>(peer: P, arguments: &Arguments) -> Result<Done> {
    let events = arguments.number("events").unwrap_or(10_000);
    let peer = Arc::new(peer);
    publish(&peer, WARM_UP).await?;
    peer.analyze().await?;
    works::ready::<P>()?;
    let start = Instant::now();
    publish(&peer, events).await?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Done { seconds, jobs: events * JOBS_AN_EVENT, events: Some(events), ..Done::default() })
}

async fn publish<P: Peer>(peer: &Arc<P>, events: u64) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut publishers = JoinSet::new();
    for _ in 0..PUBLISHERS {
        publishers.spawn(publish_until(Arc::clone(peer), Arc::clone(&next), events));
    }
    while let Some(publisher) = publishers.join_next().await {
        publisher??;
    }
    Ok(())
}

async fn publish_until<P: Peer>(peer: Arc<P>, next: Arc<AtomicU64>, events: u64) -> Result<()> {
    loop {
        let event = next.fetch_add(1, Ordering::Relaxed);
        if event >= events {
            return Ok(());
        }
        peer.publish(works::payloads(event * JOBS_AN_EVENT..(event + 1) * JOBS_AN_EVENT)).await?;
    }
}
