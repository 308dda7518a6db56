//! What `#[scheduled]` declares: when a function is due, and what becomes of ticks that were missed or that meet the former run.

use std::fmt;

/// A schedule as it stands in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// When it is due.
    pub cadence: Cadence,
    /// What becomes of ticks that nobody took in time.
    pub catch_up: CatchUp,
    /// What becomes of a tick while the run of the former one has not ended.
    pub overlap: Overlap,
}

/// When a schedule is due. Its texts were checked by the compiler; [`Timetable`](crate::timetable::Timetable) reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    /// By a cron line, on the clocks of a zone.
    Cron {
        /// `0 3 * * *`
        line: &'static str,
        /// `Europe/Paris`
        zone: &'static str,
    },
    /// At each whole multiple of this time since the beginning of 1970 in UTC: `5m`.
    Every(&'static str),
}

impl Cadence {
    /// As it is stored: the cron line, or `every 5m`.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Cron { line, .. } => (*line).to_owned(),
            Self::Every(time) => format!("every {time}"),
        }
    }

    /// The zone whose clocks it follows; `UTC` where there is none.
    #[must_use]
    pub const fn zone(&self) -> &'static str {
        match self {
            Self::Cron { zone, .. } => zone,
            Self::Every(_) => "UTC",
        }
    }
}

/// As a person reads it: `0 3 * * * (Europe/Paris)` or `every 5m`.
impl fmt::Display for Cadence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron { line, zone } => write!(f, "{line} ({zone})"),
            Self::Every(time) => write!(f, "every {time}"),
        }
    }
}

/// Most ticks that are caught up at once.
pub const MOST_CAUGHT_UP: u32 = 100;

/// What becomes of ticks that nobody took in time, because no worker was there or none reached the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// They are passed over: a tick that is older than a minute is not run.
    Skip,
    /// The newest of them is run, once. The default.
    Latest,
    /// The newest of them, this many at most, are each run.
    All(u32),
}

impl CatchUp {
    /// The stored word, and how many at most.
    #[must_use]
    pub const fn stored(self) -> (&'static str, u32) {
        match self {
            Self::Skip => ("skip", 1),
            Self::Latest => ("latest", 1),
            Self::All(most) => ("all", most),
        }
    }

    /// What these stored words mean; `None` for a word of a later release.
    #[must_use]
    pub fn of_stored(word: &str, most: u32) -> Option<Self> {
        match word {
            "skip" => Some(Self::Skip),
            "latest" => Some(Self::Latest),
            "all" => Some(Self::All(most.clamp(1, MOST_CAUGHT_UP))),
            _ => None,
        }
    }
}

/// What becomes of a tick while the run of the former one has not ended: it waits, runs, or is to be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// The tick is passed over. The default.
    Skip,
    /// It gets its job all the same.
    Allow,
}

impl Overlap {
    /// The stored word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Allow => "allow",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_words_are_read_back() {
        for catch_up in [CatchUp::Skip, CatchUp::Latest, CatchUp::All(7)] {
            let (word, most) = catch_up.stored();
            assert_eq!(CatchUp::of_stored(word, most), Some(catch_up));
        }
        assert_eq!(CatchUp::of_stored("all", 0), Some(CatchUp::All(1)));
        assert_eq!(CatchUp::of_stored("some", 1), None);
    }
}
