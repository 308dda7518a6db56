//! How many jobs of a handler may wait in memory: as many as it runs within half a second.
//!
//! A job that waits in memory waits under a lease, and is charged an attempt when the process dies. So quick handlers read
//! ahead, where a round trip a job would cost more than the job, and slow ones do not.

use std::time::Duration;

/// How long the jobs in memory last, at most.
const AHEAD: Duration = Duration::from_millis(500);
/// Weight of the newest execution in the mean.
const WEIGHT: f64 = 0.125;

/// One handler's pace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    mean: Option<f64>,
}

impl Pace {
    /// An execution took this long.
    pub(crate) fn ran(&mut self, duration: Duration) {
        let newest = duration.as_secs_f64();
        self.mean = Some(self.mean.map_or(newest, |mean| mean + WEIGHT * (newest - mean)));
    }

    /// How many may wait beside `slots` that run; one for each slot as long as nothing is known.
    pub(crate) fn ahead(self, slots: u32) -> u32 {
        let Some(mean) = self.mean else { return slots };
        let jobs = f64::from(slots) * AHEAD.as_secs_f64() / mean.max(1e-6);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded on the line above its use"
        )]
        let jobs = jobs.min(f64::from(u32::MAX)) as u32;
        jobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_handlers_read_ahead_and_slow_ones_do_not() {
        let pace = |millis| {
            let mut pace = Pace::default();
            pace.ran(Duration::from_millis(millis));
            pace.ahead(4)
        };
        assert_eq!(Pace::default().ahead(4), 4);
        assert_eq!(pace(1), 2_000);
        assert_eq!(pace(500), 4);
        assert_eq!(pace(10_000), 0);
        assert!(pace(0) > 1_000_000);
    }

    #[test]
    fn one_slow_execution_does_not_decide() {
        let mut pace = Pace::default();
        (0..50).for_each(|_| pace.ran(Duration::from_millis(1)));
        pace.ran(Duration::from_secs(1));
        assert!(pace.ahead(4) > 4);
        (0..50).for_each(|_| pace.ran(Duration::from_secs(4)));
        assert_eq!(pace.ahead(4), 0);
    }
}
