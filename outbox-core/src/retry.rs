//! When a failed attempt is repeated.

use std::time::Duration;

/// How long to wait behind the n-th failure.
///
/// `exponential(base, max)` waits `base * 2^(n-1)`, never more than `max`; `fixed(every)` always waits the same. Jitter
/// of 0 to 20 % is added, never taken away, so that replicas and batches that failed together come back apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
}

/// Share of the delay that jitter can add.
const JITTER: f64 = 0.2;

impl Backoff {
    /// 10 s, 20 s, 40 s ... up to an hour.
    pub const DEFAULT: Self = Self::exponential(Duration::from_secs(10), Duration::from_hours(1));

    /// Doubles from `base`, capped at `max`.
    #[must_use]
    pub const fn exponential(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// The same delay behind every failure.
    #[must_use]
    pub const fn fixed(every: Duration) -> Self {
        Self { base: every, max: every }
    }

    /// The delay behind failure number `failures` (from 1). `jitter` is a random number from 0 up to 1.
    #[must_use]
    pub fn delay(self, failures: u32, jitter: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(63);
        let millis = self.base.as_millis().saturating_mul(1 << doublings).min(self.max.as_millis());
        let capped = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        // What is no number adds nothing.
        let jitter = if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) };
        capped.saturating_add(capped.mul_f64(JITTER * jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// S1-52: the schedule of 60 s, 120 s, ... capped at one hour can be said.
    #[test]
    fn delays_double_up_to_the_cap() {
        let policy = Backoff::exponential(Duration::from_mins(1), Duration::from_hours(1));
        let seconds: Vec<_> = (1..=8).map(|n| policy.delay(n, 0.0).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }

    #[test]
    fn fixed_stays_the_same() {
        let policy = Backoff::fixed(Duration::from_secs(5));
        assert!((1..100).all(|n| policy.delay(n, 0.0) == Duration::from_secs(5)));
    }

    proptest! {
        /// S0-25: no overflow at any number, never less than the rule says, at most a fifth more.
        #[test]
        fn any_failure_count_stays_in_bounds(failures in any::<u32>(), base in 1..10_000_u64, jitter in 0.0..1.0_f64) {
            let policy = Backoff::exponential(Duration::from_millis(base), Duration::from_hours(1));
            let bare = policy.delay(failures, 0.0);
            let with = policy.delay(failures, jitter);
            prop_assert!(with >= bare && with <= bare.mul_f64(1.2) + Duration::from_millis(1));
            prop_assert!(bare <= Duration::from_hours(1));
        }

        /// Whatever the times and the number are, there is a delay: it never shrinks with the failures, and never passes the cap by more
        /// than a fifth.
        #[test]
        fn any_rule_has_a_delay(base in any::<Duration>(), max in any::<Duration>(), failures in any::<u32>(), jitter in any::<f64>()) {
            for policy in [Backoff::exponential(base, max), Backoff::fixed(max)] {
                let bare = policy.delay(failures, 0.0);
                prop_assert!(bare <= max && bare <= policy.delay(failures.saturating_add(1), 0.0));
                let with = policy.delay(failures, jitter);
                // A factor of 64 bits is not exact over millions of years.
                let inexact = Duration::from_millis(1).saturating_add(bare / 1_000_000_000);
                prop_assert!(with >= bare && with <= bare.saturating_add(bare / 5).saturating_add(inexact));
                let _ = policy.delay(failures, f64::NAN);
            }
        }
    }
}
