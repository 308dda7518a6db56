//! The settings of a relay.

use std::fmt;
use std::time::Duration;

use crate::circuit::Limits;
use crate::relay::{Relay, Settings};
use crate::route::{Routing, is_prefix};
use crate::transport::Transport;

/// Makes a [`Relay`]; see [`Relay::builder`].
#[derive(Debug)]
pub struct RelayBuilder<T> {
    transport: T,
    settings: Settings,
}

/// A setting that cannot be. Its `Debug` is its text, which is what a `main` that returns it prints.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// CloudEvents requires a URI reference.
    #[error("the source `{0}` is no URI reference: say something like `/shop` or `https://shop.example/orders`")]
    Source(String),
    /// Brokers read more into it.
    #[error("the prefix `{0}` must be words of letters, digits, `-` and `_`, joined by dots, at most 60 bytes")]
    Prefix(String),
    /// Nothing would ever be sent.
    #[error("a window of 0 lets nothing out: say at least 1")]
    Window,
    /// A time of zero, or one that does not fit the others.
    #[error("{0}")]
    Time(&'static str),
}

impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: Transport> RelayBuilder<T> {
    pub(crate) fn new(transport: T, source: String) -> Self {
        let limits =
            Limits { window: 256, first_pause: Duration::from_secs(1), longest_pause: Duration::from_secs(30) };
        let settings = Settings {
            source: source.into(),
            routing: Routing::default(),
            limits,
            confirm_timeout: Duration::from_secs(10),
            hold: Duration::from_secs(15),
            forward_ingested: false,
        };
        Self { transport, settings }
    }

    /// What stands in front of every subject or routing key, `shop` for `shop.order.placed.v1`. Unless said, nothing does.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.routing.prefix = prefix.into();
        self
    }

    /// Whether the id of an event's subject is the last word of its subject or routing key: `order.placed.v1.4711`. Not unless said. What
    /// brokers forbid in words is escaped as `%2E`.
    #[must_use]
    pub fn by_subject(mut self, by_subject: bool) -> Self {
        self.settings.routing.by_subject = by_subject;
        self
    }

    /// Whether events go out that came in by ingest, from this broker or another. Unless said they do not, and their jobs end as discarded: what is
    /// taken from a broker and sent to it again would go round for ever. Say it for a bridge between two brokers, of which no way leads back.
    #[must_use]
    pub fn forward_ingested(mut self, forward: bool) -> Self {
        self.settings.forward_ingested = forward;
        self
    }

    /// Most messages under way at once in this process, 256 unless said otherwise.
    #[must_use]
    pub fn window(mut self, window: u32) -> Self {
        self.settings.limits.window = window;
        self
    }

    /// How long the broker may take to answer for one message, 10 s unless said otherwise.
    #[must_use]
    pub fn confirm_timeout(mut self, timeout: Duration) -> Self {
        self.settings.confirm_timeout = timeout;
        self
    }

    /// How long messages are held in memory while the broker cannot be reached, 15 s unless said otherwise, before they go back to the job
    /// table, uncharged. What is held keeps the rest of the backlog from being claimed in vain.
    #[must_use]
    pub fn hold(mut self, hold: Duration) -> Self {
        self.settings.hold = hold;
        self
    }

    /// How long the broker is left alone when it cannot be reached: first `first`, then twice as long each time, at most `longest`. 1 s and
    /// 30 s unless said otherwise. Each pause is up to a fifth longer by chance.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.settings.limits.first_pause = first;
        self.settings.limits.longest_pause = longest;
        self
    }

    /// The relay. Give it to the outbox by `.state(relay)`.
    ///
    /// # Errors
    /// When a setting cannot be.
    pub fn build(self) -> Result<Relay<T>, SettingError> {
        let Settings { source, routing, limits, confirm_timeout, hold, .. } = &self.settings;
        if source.is_empty() || source.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(SettingError::Source(source.to_string()));
        }
        if !is_prefix(&routing.prefix) {
            return Err(SettingError::Prefix(routing.prefix.clone()));
        }
        if limits.window == 0 {
            return Err(SettingError::Window);
        }
        if limits.first_pause.is_zero() || limits.longest_pause < limits.first_pause {
            return Err(SettingError::Time(
                "a pause must be longer than nothing, and the longest not shorter than the first",
            ));
        }
        if limits.longest_pause > Duration::from_hours(24) {
            return Err(SettingError::Time("a pause of more than a day is none: stop the relay instead"));
        }
        if confirm_timeout.is_zero() {
            return Err(SettingError::Time("no broker can confirm within no time: say some seconds"));
        }
        if *hold + *confirm_timeout > LONGEST_CALL {
            return Err(SettingError::Time(
                "holding and waiting for the broker together must be at most 50 s, because a call has a minute",
            ));
        }
        Ok(Relay::new(self.transport, self.settings))
    }
}

/// Below the time that a handler has unless it says another.
const LONGEST_CALL: Duration = Duration::from_secs(50);
