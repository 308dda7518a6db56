//! All that is known of a job, in words.

use std::fmt::Write as _;

use crate::history::{History, JobKey};

/// A line for each of its steps, in their order, and for each of its executions.
#[must_use]
pub fn story(history: &History, job: &JobKey) -> String {
    let mut story = format!("{} of {}\n", job.handler, job.source);
    for step in history.steps.iter().filter(|step| step.key == *job) {
        let _ = writeln!(
            story,
            "  step {} (xid {}) {:?} running={} attempt {}/{} crashes={} claim={:?} before={:?} worker={:?} reason={:?} by {:?} {:?}",
            step.no,
            step.xid,
            step.what,
            step.running,
            step.attempts,
            step.most,
            step.crashes,
            step.claim,
            step.before,
            step.worker,
            step.reason,
            step.node,
            step.service
        );
    }
    for one in history.executions.iter().filter(|one| one.job == *job) {
        let _ = writeln!(
            story,
            "  run on {} attempt {} from {} until {:?}, key {}",
            one.node, one.attempt, one.began.0, one.ended, one.key
        );
    }
    for effect in history.effects.iter().filter(|effect| effect.job == *job) {
        let _ = writeln!(story, "  effect of claim {}", effect.claim);
    }
    story
}
