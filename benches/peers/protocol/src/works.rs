//! The works, the same for every library.

mod bulk;
mod drain;
mod latency;
mod publish;

use std::ops::Range;

use anyhow::Result;

use crate::arguments::{Arguments, Work};
use crate::{Payload, Peer, dialogue};

/// How many jobs one event leads to.
const JOBS_AN_EVENT: u64 = 5;

pub(crate) async fn run<P: Peer>(arguments: Arguments) -> Result<()> {
    let peer = P::prepare(&arguments.database).await?;
    let done = match arguments.work {
        Work::Publish => publish::run(peer, &arguments).await?,
        Work::Bulk => bulk::run(peer, &arguments).await?,
        Work::Drain => drain::run(peer, &arguments).await?,
        Work::Latency => latency::run(peer, &arguments).await?,
    };
    dialogue::done(&done)
}

fn ready<P: Peer>() -> Result<()> {
    dialogue::ready(P::SETTINGS, P::VERSION)
}

fn payloads(numbers: Range<u64>) -> Vec<Payload> {
    numbers.map(Payload::new).collect()
}
