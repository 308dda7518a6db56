//! Heals everything, and waits until there is nothing left to do.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Patience, Run};
use crate::history;
use crate::load::FAILING;
use crate::plan::LANES;

const GLANCE: Duration = Duration::from_millis(200);

/// What had not ended, and why it is no longer waited for.
pub(super) struct Left {
    /// Jobs; all that can be counted when the database did not say.
    pub(super) jobs: u64,
    /// In words.
    pub(super) why: String,
}

/// Ends whatever a fault may have left. Nothing of a process is held any more, forgotten connections are cut on both sides, and who
/// stands still goes on.
pub(super) fn heal(run: &Run) {
    for place in run.fleet.places() {
        for lane in LANES {
            place.proxy.of(lane).clear();
        }
        place.proxy.all().clear();
        place.proxy.all().cut();
        if let Some(present) = place.present() {
            let _ = present.process.thaw();
        }
    }
}

/// Answers what had not ended when nothing changed any more, or when it took too long.
pub(super) async fn until_everything_has_ended(run: &Run, patience: Patience) -> Option<Left> {
    run.fleet.stop_publishers().await;
    let began = Instant::now();
    let (mut last, mut changed) = (None, began);
    loop {
        let mut trouble = String::new();
        match history::work_left(&run.cluster.url(), &FAILING).await {
            Ok(work) if work.jobs == 0 => return None,
            Ok(work) if last != Some(work) => (last, changed) = (Some(work), Instant::now()),
            Ok(_) => {}
            Err(error) => trouble = format!("; the database: {error:#}"),
        }
        let why = if changed.elapsed() > patience.stall {
            format!("nothing has changed for {:.0?}", patience.stall)
        } else if began.elapsed() > patience.drain {
            format!("not everything has ended within {:.0?}", patience.drain)
        } else {
            sleep(GLANCE).await;
            continue;
        };
        let jobs = last.map_or(u64::MAX, |work| work.jobs);
        let left = last.map_or_else(|| "an unknown number of".to_owned(), |work| work.jobs.to_string());
        return Some(Left { jobs, why: format!("{why}, and {left} jobs have not ended{trouble}") });
    }
}
