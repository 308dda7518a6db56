//! The settings of an ingest.

use std::fmt;
use std::time::Duration;

use crate::ingest::{Ingest, Settings};
use crate::source::Source;

/// Makes an [`Ingest`]; see [`Ingest::builder`].
#[derive(Debug)]
pub struct IngestBuilder<S> {
    source: S,
    settings: Settings,
}

/// A setting that cannot be. Its `Debug` is its text, which is what a `main` that returns it prints.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// Nothing would ever be taken, or all of it at once.
    #[error("a prefetch of {0} is none: say 1 to 10000")]
    Prefetch(usize),
    /// It is a part of the key of what stands in quarantine.
    #[error("the source needs a name of 1 to 200 bytes, without control characters")]
    Name,
    /// A time that cannot be.
    #[error("{0}")]
    Time(&'static str),
}

impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<S: Source> IngestBuilder<S> {
    pub(crate) fn new(source: S) -> Self {
        let settings = Settings {
            prefetch: 500,
            hold: Duration::from_secs(10),
            shutdown: Duration::from_secs(5),
            everything: false,
        };
        Self { source, settings }
    }

    /// Most messages that are held, unacknowledged, by one run at once, which is also the most of one transaction. 500 unless said otherwise.
    #[must_use]
    pub fn prefetch(mut self, prefetch: usize) -> Self {
        self.settings.prefetch = prefetch;
        self
    }

    /// How long messages are held while the database is away, before they are given back to the broker; 10 s unless said otherwise. Keep it
    /// below the time after which the broker delivers a message again by itself.
    #[must_use]
    pub fn hold(mut self, hold: Duration) -> Self {
        self.settings.hold = hold;
        self
    }

    /// How long the batch in hand may take behind the word to stop, before it is given back; 5 s unless said otherwise.
    #[must_use]
    pub fn shutdown(mut self, shutdown: Duration) -> Self {
        self.settings.shutdown = shutdown;
        self
    }

    /// Whether events of a name are taken that no crate here declares, and that nobody receives but a subscriber of `*`. Unless said, they go
    /// to quarantine as of an unknown type: a relay or a log of everything says nothing about which names there are.
    #[must_use]
    pub fn everything(mut self, everything: bool) -> Self {
        self.settings.everything = everything;
        self
    }

    /// The ingest.
    ///
    /// # Errors
    /// When a setting cannot be.
    pub fn build(self) -> Result<Ingest<S>, SettingError> {
        let Settings { prefetch, hold, shutdown, .. } = self.settings;
        if !(1..=10_000).contains(&prefetch) {
            return Err(SettingError::Prefetch(prefetch));
        }
        let name = self.source.name();
        if !(1..=200).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(SettingError::Name);
        }
        if hold.is_zero() || hold > Duration::from_hours(1) {
            return Err(SettingError::Time("messages are held for a moment, and not for more than an hour"));
        }
        if shutdown > Duration::from_mins(10) {
            return Err(SettingError::Time("a shutdown of more than ten minutes is none"));
        }
        Ok(Ingest::new(self.source, self.settings))
    }
}
