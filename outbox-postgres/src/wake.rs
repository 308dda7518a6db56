//! Waking workers after a commit: those of this process at once, those of others by one debounced NOTIFY.
//!
//! Polling is the truth; a wake that is lost costs one poll interval. A NOTIFY is never part of the publishing transaction:
//! all commits that notify go through one lock of the whole server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor};
use tokio::sync::{Mutex, Notify};
use uuid::Uuid;

use crate::error::told;
use crate::lane::{Lane, LaneError};

const NOTIFY_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Wake {
    /// Wakes this process's worker. One permit is kept, so a kick between a claim and the wait behind it is not lost.
    pub(crate) local: Notify,
    /// Wakes the feed of its live streams, in the same way. Where there is none, a permit is all that it costs.
    pub(crate) live: Notify,
    channel: String,
    /// What our own NOTIFY says, so that our own listener can tell it: whoever it is for here has been woken by the kick.
    origin: String,
    /// No NOTIFY at all: poll-only mode.
    silent: bool,
    /// After a NOTIFY the next one waits this long, and then stands for all kicks in between.
    debounce: Duration,
    wanted: AtomicBool,
    /// Held by the one sender of wakes, through the pause behind each too.
    sender: Mutex<()>,
    lane: Mutex<Lane>,
}

impl Wake {
    pub(crate) fn new(lane: Lane, channel: String, silent: bool, debounce: Duration) -> Self {
        Self {
            local: Notify::new(),
            live: Notify::new(),
            channel,
            origin: Uuid::new_v4().simple().to_string(),
            silent,
            debounce,
            wanted: AtomicBool::new(false),
            sender: Mutex::default(),
            lane: Mutex::new(lane),
        }
    }

    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    /// Whether a NOTIFY with this text is our own.
    pub(crate) fn sent(&self, text: &str) -> bool {
        text == self.origin
    }

    /// Sends to one listener alone, to prove that it hears.
    pub(crate) async fn heartbeat(&self, channel: &str) -> Result<(), LaneError> {
        self.send(format!("-- heartbeat: does this listener hear?\nnotify {channel}")).await
    }

    async fn send(&self, text: String) -> Result<(), LaneError> {
        let mut lane = self.lane.lock().await;
        lane.run(NOTIFY_LIMIT, async |connection| connection.execute(AssertSqlSafe(text)).await.map(drop)).await
    }

    /// Work has become due: wakes the local worker and the local live streams at once, and others by NOTIFY on the leading edge.
    pub(crate) fn kick(self: &Arc<Self>) {
        self.local.notify_one();
        self.live.notify_one();
        if self.silent || self.wanted.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(notify(Arc::clone(self)));
        } else {
            self.wanted.store(false, Ordering::Release);
        }
    }
}

/// A sender that ends before it has sent (its runtime went down) leaves the next kick free to send.
struct Unsent<'a>(&'a Wake);

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        self.0.wanted.store(false, Ordering::Release);
    }
}

/// Sends, waits the debounce out, and sends again when somebody kicked meanwhile. One that finds another at it leaves the kick to
/// that one, so that however long kicks go on there is one sender, and at most one that has not looked yet.
async fn notify(wake: Arc<Wake>) {
    loop {
        // Taken or not, a kick stands in `wanted` by now: whoever has the turn looks once more behind its end.
        let Ok(turn) = wake.sender.try_lock() else { return };
        let unsent = Unsent(&wake);
        while wake.wanted.swap(false, Ordering::SeqCst) {
            if let Err(error) =
                wake.send(format!("-- wake: there is work\nnotify {}, '{}'", wake.channel, wake.origin)).await
            {
                tracing::debug!(error = told(&error), "no NOTIFY: other processes find the work by polling");
            }
            tokio::time::sleep(wake.debounce).await;
        }
        std::mem::forget(unsent);
        drop(turn);
        if !wake.wanted.load(Ordering::SeqCst) {
            return;
        }
    }
}
