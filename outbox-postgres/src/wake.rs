//! Waking workers after a commit: those of this process at once, those of others by one debounced NOTIFY.
//!
//! Polling is the truth; a wake that is lost costs one poll interval. A NOTIFY is never part of the publishing transaction:
//! all commits that notify go through one lock of the whole server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor};
use tokio::sync::{Mutex, Notify, watch};
use uuid::Uuid;

use crate::error::told;
use crate::lane::{Lane, LaneError};

const NOTIFY_LIMIT: Duration = Duration::from_secs(2);
/// How long a NOTIFY waits for the claim of this process's own worker to come back.
const OWN_CLAIM: Duration = Duration::from_millis(1);

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
    /// A worker of this process waits for a wake and has nothing under way: a kick makes it claim at once.
    at_rest: AtomicBool,
    /// Its claims that came back.
    claimed: watch::Sender<()>,
    /// Longest that a NOTIFY waits for one.
    patience: Duration,
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
            at_rest: AtomicBool::new(false),
            claimed: watch::Sender::new(()),
            patience: OWN_CLAIM,
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

    /// What a worker does until the next kick.
    pub(crate) fn rests(&self, at_rest: bool) {
        self.at_rest.store(at_rest, Ordering::Relaxed);
    }

    /// A claim has come back, whatever it brought.
    pub(crate) fn claimed(&self) {
        self.claimed.send_replace(());
    }

    /// Work has become due: wakes the local worker and the local live streams at once, and others by NOTIFY on the leading edge, which
    /// waits a moment for the claim of a worker that was at rest here. What sends it, what runs it and what hears it would take the
    /// processors from that claim.
    pub(crate) fn kick(self: &Arc<Self>) {
        // Before the worker is woken, so that its claim is not missed.
        let own = self.at_rest.load(Ordering::Relaxed).then(|| self.claimed.subscribe());
        self.local.notify_one();
        self.live.notify_one();
        if self.silent || self.wanted.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Made here and not in the task, which may end before it has begun.
            let kicked = Kicked { wake: Arc::clone(self), is_heard: false };
            runtime.spawn(kicked.notify(own));
        } else {
            self.wanted.store(false, Ordering::Release);
        }
    }
}

/// A kick that nobody sends yet. When its task ends before it has begun (its runtime went down), the next kick is free to send.
struct Kicked {
    wake: Arc<Wake>,
    is_heard: bool,
}

impl Kicked {
    async fn notify(mut self, own: Option<watch::Receiver<()>>) {
        behind(own, self.wake.patience).await;
        self.is_heard = true;
        notify(&self.wake).await;
    }
}

impl Drop for Kicked {
    fn drop(&mut self) {
        // Who sends just now looks once more behind its end.
        if !self.is_heard
            && let Ok(_turn) = self.wake.sender.try_lock()
        {
            self.wake.wanted.store(false, Ordering::Release);
        }
    }
}

/// Until this process's own claim has come back, if one is about to be made, and not for long.
async fn behind(own: Option<watch::Receiver<()>>, patience: Duration) {
    if let Some(mut own) = own {
        // Late or gone, the others are told all the same.
        let _ = tokio::time::timeout(patience, own.changed()).await;
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
async fn notify(wake: &Wake) {
    loop {
        // Taken or not, a kick stands in `wanted` by now: whoever has the turn looks once more behind its end.
        let Ok(turn) = wake.sender.try_lock() else { return };
        let unsent = Unsent(wake);
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

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;

    use super::*;
    use crate::lane::Sharing;

    /// Its runtime goes down before the sender has run at all, or while it waits for the own claim: a later kick of another runtime sends all
    /// the same.
    #[test]
    fn a_sender_that_never_begins_leaves_the_next_kick_free() {
        let lane = Lane::new(&PgConnectOptions::new_without_pgpass(), Sharing::Ours, "wake");
        let wake = Arc::new(Wake::new(lane, "work".to_owned(), false, Duration::ZERO));
        for at_rest in [false, true] {
            wake.rests(at_rest);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                wake.kick();
                assert!(wake.wanted.load(Ordering::SeqCst));
            });
            drop(runtime);
            assert!(!wake.wanted.load(Ordering::SeqCst), "at rest: {at_rest}");
        }
    }

    #[tokio::test]
    async fn others_are_told_behind_the_claim_of_a_worker_at_rest_and_without_it_all_the_same() {
        let claims = watch::Sender::new(());
        behind(None, OWN_CLAIM).await;
        let own = claims.subscribe();
        claims.send_replace(());
        behind(Some(own), OWN_CLAIM).await;
        let began = tokio::time::Instant::now();
        behind(Some(claims.subscribe()), OWN_CLAIM).await;
        assert!(began.elapsed() >= OWN_CLAIM, "it waits for the claim");
        let own = claims.subscribe();
        drop(claims);
        behind(Some(own), OWN_CLAIM).await;
    }

    /// While a worker of this process is at rest, a commit's NOTIFY is not sent before that worker's claim has come back, however often the
    /// sender has its turn; where none is at rest, it is sent at once.
    #[tokio::test]
    async fn a_notify_leaves_behind_the_own_claim() {
        for at_rest in [false, true] {
            let lane = Lane::new(&PgConnectOptions::new_without_pgpass(), Sharing::Ours, "wake");
            let mut wake = Wake::new(lane, "work".to_owned(), false, Duration::ZERO);
            wake.patience = Duration::from_hours(1);
            let wake = Arc::new(wake);
            wake.rests(at_rest);
            wake.kick();
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(
                wake.wanted.load(Ordering::SeqCst),
                at_rest,
                "who sends has taken the kick, or waits for the claim"
            );
            wake.claimed();
            while wake.wanted.load(Ordering::SeqCst) {
                tokio::task::yield_now().await;
            }
        }
    }
}
