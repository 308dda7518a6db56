//! Reads what has become visible, for the live streams of this process: woken by commits, of this process at once and of others by
//! NOTIFY, and every two seconds whatever it hears. It begins with the first stream and ends half a minute after the last.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::listener::{self, Ears};
use crate::backoff;
use crate::error::told;
use crate::lane::{self, Lane, LaneError};
use crate::live::{Hub, Missed, Tail, Took};
use crate::outbox::{Inner, Outbox};
use crate::step;
use crate::wake::Wake;

/// How long it waits for a wake. Counted from the end of a read, so that nothing is made up for behind a stall.
const POLL: Duration = Duration::from_secs(2);
/// How long it stays when nobody looks on, for those that come back, and goes on reading meanwhile.
const LINGER: Duration = Duration::from_secs(30);
/// Longest wait for a read.
const LIMIT: Duration = Duration::from_secs(5);
/// After so many reads without an answer it does not ask for what it has missed any more.
const OVERDUE: u32 = 3;
/// A read that took the server long is followed by a pause of so many times that, up to a second.
const REST: u32 = 4;
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The feed of this number, which the hub has given out.
pub(crate) fn run(outbox: &Outbox, number: u32) -> impl Future<Output = ()> + Send + use<> {
    let feed = Feed {
        outbox: outbox.downgrade(),
        hub: Arc::clone(&outbox.inner().live),
        wake: Arc::clone(&outbox.inner().wake),
        number,
        lane: outbox.lane("live").with_settings(lane::BY_INDEX),
        tail: None,
        read: Instant::now(),
        failures: 0,
        overdue: 0,
    };
    feed.run()
}

struct Feed {
    /// Streams keep it; a feed that nobody looks at does not.
    outbox: Weak<Inner>,
    hub: Arc<Hub>,
    wake: Arc<Wake>,
    number: u32,
    lane: Lane,
    tail: Option<Tail>,
    /// When the last read was answered.
    read: Instant,
    failures: u32,
    /// How many reads in a row had no answer in time.
    overdue: u32,
}

/// However a feed ends, by a panic or with its runtime, no stream waits for it for ever.
struct Gone(Arc<Hub>, u32);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.feed_is_gone(self.1);
    }
}

impl Feed {
    async fn run(mut self) {
        let _gone = Gone(Arc::clone(&self.hub), self.number);
        let mut listener = None;
        while !self.hub.may_end(self.number, LINGER) {
            let Some(outbox) = self.outbox.upgrade().map(Outbox::from_inner) else { break };
            if self.hub.is_empty() {
                listener = None;
            } else if listener.is_none() && outbox.config().listens() {
                listener = Some(listen(&outbox));
            }
            match self.read(&outbox).await {
                Ok(took) => {
                    self.got_through();
                    drop(outbox);
                    sleep((took * REST).min(LONGEST_REST)).await;
                    if self.tail.as_ref().is_some_and(Tail::is_urgent) {
                        continue;
                    }
                    tokio::select! {
                        () = self.wake.live.notified() => {}
                        () = sleep(POLL) => {}
                    }
                }
                Err(error) => {
                    drop(outbox);
                    sleep(self.failed(&error)).await;
                }
            }
        }
        drop(listener);
        self.lane.close().await;
    }

    /// Reads once, and answers how long that took the server.
    async fn read(&mut self, outbox: &Outbox) -> Result<Duration, LaneError> {
        let Some(tail) = &mut self.tail else { return self.begin(outbox, Missed::Behind).await };
        let idle = i64::try_from(self.read.elapsed().as_millis()).unwrap_or(i64::MAX);
        let sweep = tail.sweeps(idle);
        let (statements, look) = (outbox.statements(), tail.look(sweep));
        let read = async |connection: &mut _| step::live::read(connection, statements, &look).await;
        let found = self.lane.run(LIMIT, read).await?;
        self.read = Instant::now();
        match tail.take(&found, sweep) {
            Took::All if found.events.is_empty() => {}
            Took::All => self.hub.deliver(found.events),
            Took::Skipped(types) => self.hub.skip(types.as_deref()),
            Took::AnotherServer => {
                self.tail = None;
                return self.begin(outbox, Missed::Restarted).await;
            }
        }
        Ok(found.took)
    }

    /// Finds out from where on it reads. `why` is what streams are told that had a feed before.
    async fn begin(&mut self, outbox: &Outbox, why: Missed) -> Result<Duration, LaneError> {
        let (statements, look) = (outbox.statements(), Tail::first_look());
        let open = async |connection: &mut _| step::live::open(connection, statements).await;
        let open_since = self.lane.run(LIMIT, open).await?;
        let read = async |connection: &mut _| step::live::read(connection, statements, &look).await;
        let found = self.lane.run(LIMIT, read).await?;
        self.read = Instant::now();
        self.tail = Some(Tail::begin(&found, open_since));
        self.hub.stand(why);
        Ok(Duration::ZERO)
    }

    fn got_through(&mut self) {
        self.overdue = 0;
        if self.failures > 0 {
            self.failures = 0;
            tracing::info!("live streams have the database again");
        }
    }

    /// Says so once, and answers how long to wait.
    fn failed(&mut self, error: &LaneError) -> Duration {
        if self.failures == 0 {
            tracing::warn!(error = told(error), "live streams stand still: {}", backoff::meaning(error.class()));
        }
        self.failures = self.failures.saturating_add(1);
        if matches!(error, LaneError::Deadline(LIMIT)) {
            self.overdue += 1;
            // It may be the read itself that takes too long, and would each time.
            if self.overdue >= OVERDUE {
                (self.tail, self.overdue) = (None, 0);
            }
        }
        backoff::POLICY.delay(self.failures, rand::random())
    }
}

/// Listens until the guard is dropped.
fn listen(outbox: &Outbox) -> DropGuard {
    let stop = CancellationToken::new();
    tokio::spawn(listener::run(outbox.clone(), Ears::Live, stop.clone()));
    stop.drop_guard()
}
