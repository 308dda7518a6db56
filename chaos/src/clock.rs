//! The clocks of this machine. All processes of a run share them.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Nanoseconds of the monotonic clock, which is the same in all processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Monotonic(pub u64);

impl Monotonic {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(nanoseconds(ClockId::Monotonic))
    }

    /// How much later this is than `earlier`, in seconds; nothing when it is not later.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        std::time::Duration::from_nanos(self.0.saturating_sub(earlier.0)).as_secs_f64()
    }

    /// This much later.
    #[must_use]
    pub fn plus(self, by: std::time::Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Microseconds of the clock on the wall, the one that the database has as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(pub i64);

impl Wall {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(i64::try_from(nanoseconds(ClockId::Realtime) / 1_000).unwrap_or(i64::MAX))
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
