//! Many jobs at once, by what the library has for that.

use std::time::Instant;

use anyhow::Result;

use super::JOBS_AN_EVENT;
use crate::arguments::Arguments;
use crate::dialogue::Done;
use crate::{Peer, works};

const WARM_UP: u64 = 2_000;

pub(super) async fn run<P: Peer>(peer: P, arguments: &Arguments) -> Result<Done> {
    let events = arguments.number("events");
    let of_events = events.unwrap_or(20_000) * arguments.number("fan-out").unwrap_or(JOBS_AN_EVENT);
    let jobs = arguments.number("jobs").unwrap_or(of_events);
    peer.bulk(0..WARM_UP).await?;
    peer.analyze().await?;
    works::ready::<P>()?;
    let start = Instant::now();
    peer.bulk(0..jobs).await?;
    Ok(Done { seconds: start.elapsed().as_secs_f64(), jobs, events, ..Done::default() })
}
