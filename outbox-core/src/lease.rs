//! Until when a worker may act: one lease a process, renewed apart from the handlers.
//!
//! No clock is compared with the database's. A worker counts from the moment *before* it sent its last successful
//! renewal, which is earlier than the moment from which the database counts, so it always stops first.

use std::time::Duration;

/// The lengths that a lease may have.
pub const BOUNDS: std::ops::RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_mins(10);

/// The length of a lease, unless said otherwise.
pub const DEFAULT: Duration = Duration::from_secs(10);

/// The rules of one lease length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    length: Duration,
}

impl Lease {
    /// A lease of this length; `None` outside of [`BOUNDS`].
    #[must_use]
    pub fn new(length: Duration) -> Option<Self> {
        BOUNDS.contains(&length).then_some(Self { length })
    }

    /// How long the database keeps it behind a renewal.
    #[must_use]
    pub fn length(self) -> Duration {
        self.length
    }

    /// How often it is renewed: three tries before it ends.
    #[must_use]
    pub fn renew_every(self) -> Duration {
        self.length / 3
    }

    /// When handlers are cancelled, counted from the sending of the last successful renewal: early enough that they are
    /// gone before another worker can start the same job.
    #[must_use]
    pub fn stop_after(self) -> Duration {
        self.length.saturating_sub((self.length / 5).min(Duration::from_secs(1)))
    }

    /// How often dead workers are looked for: a lease that ends is noticed well within a second.
    #[must_use]
    pub fn rescue_every(self) -> Duration {
        (self.length / 8).clamp(Duration::from_millis(100), Duration::from_millis(400))
    }
}

impl Default for Lease {
    fn default() -> Self {
        Self { length: DEFAULT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Q18: at every length there are two renewals before handlers are cancelled, and that is before the lease ends.
        #[test]
        fn renewals_come_in_time(millis in 2_000..600_000_u64) {
            let lease = Lease::new(Duration::from_millis(millis)).expect("within bounds");
            prop_assert!(lease.renew_every() * 2 < lease.stop_after());
            prop_assert!(lease.stop_after() < lease.length());
            prop_assert!(lease.rescue_every() <= Duration::from_millis(400));
        }
    }

    #[test]
    fn a_lease_too_short_to_renew_is_refused() {
        assert_eq!(Lease::new(Duration::from_millis(1_999)), None);
        assert_eq!(Lease::new(Duration::from_secs(601)), None);
        assert!(Lease::default().length() <= Duration::from_secs(15));
    }
}
