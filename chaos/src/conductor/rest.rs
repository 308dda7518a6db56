//! Heals everything, and waits until there is nothing left to do.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Run, said};
use crate::history;
use crate::load::FAILING;

/// So long without any change, with jobs left, is a stall.
const STALL: Duration = Duration::from_secs(45);
const GLANCE: Duration = Duration::from_millis(200);

/// Answers how many jobs had not ended when nothing changed any more.
pub(super) async fn until_everything_has_ended(run: &Run) -> anyhow::Result<u64> {
    for place in run.fleet.places() {
        place.proxy.all().clear();
        place.proxy.all().cut();
        if let Some(present) = place.present() {
            let _ = present.process.thaw();
        }
    }
    run.fleet.stop_publishers().await;
    let (mut last, mut changed) = (None, Instant::now());
    loop {
        if let Ok(work) = history::work_left(&run.cluster.url(), &FAILING).await {
            if work.jobs == 0 {
                return Ok(0);
            }
            if last != Some(work) {
                (last, changed) = (Some(work), Instant::now());
            }
        }
        if changed.elapsed() > STALL {
            let left = last.map_or(u64::MAX, |work| work.jobs);
            said(&format!("nothing has changed for {STALL:?}, and {left} jobs have not ended"));
            return Ok(left);
        }
        sleep(GLANCE).await;
    }
}
