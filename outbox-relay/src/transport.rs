//! What a broker's client must be able to do, and what it may answer.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::message::Outgoing;
use crate::meters::Away;

/// The way to one destination: a connection to a broker that is kept up, and the publishing of one message over it.
///
/// An implementation keeps `contract` (feature `testing`), which tests it against a real server. It need not retry, count or wait:
/// that is the [`Relay`](crate::Relay)'s. Only a relay can make an [`Outgoing`], so that no other code can publish over a transport.
pub trait Transport: Send + Sync + 'static {
    /// What the destination is called in logs and signals. Without credentials.
    fn destination(&self) -> &str;

    /// Publishes one message and waits until the broker has answered for it.
    ///
    /// A relay calls it many times at once, and drops the future when its time is over. What was sent may arrive all the same, and is
    /// published again under the same id.
    ///
    /// # Errors
    /// [`NotConfirmed`], which says whose fault it is: the message's or the destination's.
    fn publish(&self, message: &Outgoing) -> impl Future<Output = Result<Confirmed, NotConfirmed>> + Send;

    /// Whether it is connected, and since when not. It connects again by itself for as long as it lives.
    fn link(&self) -> &Link;
}

/// The broker has stored the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confirmed {
    /// It had stored it before, under the same id.
    pub is_duplicate: bool,
}

impl Confirmed {
    /// Stored now.
    #[must_use]
    pub fn new() -> Self {
        Self { is_duplicate: false }
    }

    /// Stored now, or before.
    #[must_use]
    pub fn duplicate(is_duplicate: bool) -> Self {
        Self { is_duplicate }
    }
}

impl Default for Confirmed {
    fn default() -> Self {
        Self::new()
    }
}

/// The broker has not confirmed that it stored the message. The texts hold no payload and no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotConfirmed {
    /// The broker took it and has no queue or stream for it. Charged to the message, and tried again: somebody may bind a queue.
    #[error("no queue or stream takes `{route}`: {reason}")]
    Unroutable {
        /// Subject or routing key.
        route: String,
        /// The broker's words.
        reason: String,
    },
    /// The broker refused this message, and may take it later: a full queue, a limit. Charged to the message, and tried again.
    #[error("the broker refused it: {0}")]
    Refused(String),
    /// The broker will never take this message: too large, a name that it forbids. Quarantined at once.
    #[error("the broker can never take it: {0}")]
    Unsendable(String),
    /// The message was sent, and no answer came in time. The destination's fault, unless it answers others meanwhile.
    #[error("no answer for it within {0:?}")]
    NoAnswer(Duration),
    /// The destination cannot be reached, or cannot take any message. Charged to no message.
    #[error("the broker cannot be reached: {0}")]
    Unreachable(String),
}

/// Whether a transport is connected; measured, not only counted. Cloned freely: all clones are one.
#[derive(Clone)]
pub struct Link(Arc<Shared>);

struct Shared {
    state: Mutex<LinkState>,
    /// Whether the connection stands, for those who wait for a change of it.
    up: watch::Sender<bool>,
}

struct LinkState {
    down_since: Option<Instant>,
    down_before: Duration,
    losses: u64,
    last_error: Option<String>,
    meter: Option<Away>,
}

impl LinkState {
    fn down_for(&self) -> Option<Duration> {
        self.down_since.map(|since| since.elapsed())
    }

    fn measure(&self) {
        if let Some(meter) = &self.meter {
            meter.set(self.down_for());
        }
    }
}

/// What a [`Link`] has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatus {
    /// For how long it has been disconnected; `None` while it is connected.
    pub down_for: Option<Duration>,
    /// For how long it was disconnected, all together, from its beginning until now.
    pub down_total: Duration,
    /// How often the connection was lost.
    pub losses: u64,
    /// The last error of the connection.
    pub last_error: Option<String>,
}

impl Link {
    /// One that is not connected yet.
    #[must_use]
    pub fn new() -> Self {
        let state = LinkState {
            down_since: Some(Instant::now()),
            down_before: Duration::ZERO,
            losses: 0,
            last_error: None,
            meter: None,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), up: watch::Sender::new(false) }))
    }

    /// The connection stands.
    pub fn connected(&self) {
        let mut state = self.state();
        if let Some(since) = state.down_since.take() {
            state.down_before += since.elapsed();
        }
        state.measure();
        // With the lock held, so that both tell the same.
        self.0.up.send_replace(true);
    }

    /// The connection is lost. `why` holds no credentials.
    pub fn disconnected(&self, why: impl Into<Option<String>>) {
        let mut state = self.state();
        if state.down_since.is_none() {
            state.down_since = Some(Instant::now());
            state.losses += 1;
        }
        if let Some(why) = why.into() {
            state.last_error = Some(why);
        }
        state.measure();
        self.0.up.send_replace(false);
    }

    /// Since when it is disconnected is written to this gauge from now on, at each change: seconds of Unix time, and infinity while it is
    /// connected. For who consumes over it; a relay measures by itself.
    pub fn measured_by(&self, gauge: metrics::Gauge) {
        self.measured(Away::by(gauge));
    }

    /// Its ups and downs are measured from now on.
    pub(crate) fn measured(&self, meter: Away) {
        let mut state = self.state();
        state.meter = Some(meter);
        state.measure();
    }

    /// An error that was heard of, whatever becomes of the connection.
    pub fn heard(&self, error: impl Into<String>) {
        self.state().last_error = Some(error.into());
    }

    /// Whether it is connected.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state().down_since.is_none()
    }

    /// Waits until it is connected.
    pub async fn up(&self) {
        self.until(true).await;
    }

    /// Waits until it is not connected.
    pub async fn down(&self) {
        self.until(false).await;
    }

    async fn until(&self, state: bool) {
        // Its sender lives as long as this value.
        let _ = self.0.up.subscribe().wait_for(|up| *up == state).await;
    }

    /// What it has seen until now. Asked at any time: the durations grow also while nothing else happens.
    #[must_use]
    pub fn status(&self) -> LinkStatus {
        let state = self.state();
        let down_for = state.down_for();
        LinkStatus {
            down_for,
            down_total: state.down_before + down_for.unwrap_or_default(),
            losses: state.losses,
            last_error: state.last_error.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        // No panic can leave it half written.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time without a connection is a duration that grows by itself, and its sum stays when the connection is back.
    #[tokio::test(start_paused = true)]
    async fn the_time_without_a_connection_is_measured() {
        let link = Link::new();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(link.status().down_for, Some(Duration::from_secs(2)));
        link.connected();
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!((link.status().down_for, link.status().down_total), (None, Duration::from_secs(2)));
        link.disconnected("reset by peer".to_owned());
        tokio::time::advance(Duration::from_secs(3)).await;
        // Told of again, it is still the same loss.
        link.disconnected(None);
        tokio::time::advance(Duration::from_secs(4)).await;
        let status = link.status();
        assert_eq!((status.down_for, status.down_total), (Some(Duration::from_secs(7)), Duration::from_secs(9)));
        assert_eq!((status.losses, status.last_error.as_deref()), (1, Some("reset by peer")));
    }
}
