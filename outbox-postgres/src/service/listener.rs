//! Listens for the wakes of other processes, and proves now and then that it hears: a connection can be dead without saying so,
//! and a transaction pooler swallows notifications without a word.
//!
//! A wake that is missed costs one poll, so every (re)connect is followed by a kick; and a worker whose listener hears nothing
//! polls more often than it was told to.

use std::time::Duration;

use sqlx::Executor as _;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backoff::Reconnect;
use crate::health::Listening;
use crate::lane::{self, LaneError};
use crate::outbox::Outbox;

/// How often it sends a notification to itself, and how soon that has to arrive.
const PROVE_EVERY: Duration = Duration::from_secs(5);
const HEARD_WITHIN: Duration = Duration::from_secs(3);
/// How long it can be that none could be sent, before its own connection is held to be as dead as the sender's.
const UNPROVEN_LIMIT: Duration = Duration::from_secs(15);
/// When a connection that never heard anything is tried again.
const DEAF_DELAY: Duration = Duration::from_mins(1);

/// For whom it listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ears {
    Worker,
    /// The feed of live streams, in a process with or without a worker.
    Live,
}

impl Ears {
    /// Somebody published, or may have.
    fn wake(self, outbox: &Outbox) {
        match self {
            Self::Worker => outbox.inner().wake.local.notify_one(),
            Self::Live => outbox.inner().wake.live.notify_one(),
        }
    }

    /// A feed polls as often whatever is heard.
    fn tell(self, outbox: &Outbox, listening: Listening) {
        if self == Self::Worker {
            outbox.vitals().listening_is(listening);
        }
    }

    fn reconnect(self, outbox: &Outbox) -> Reconnect {
        match self {
            Self::Worker => Reconnect::of(outbox, "listen"),
            // The feed itself tells of a database that is away.
            Self::Live => Reconnect::of(outbox, "live listen").quiet(),
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Worker => "outbox listen",
            Self::Live => "outbox live listen",
        }
    }
}

/// Why a connection is given up.
enum Lost {
    Failed(LaneError),
    /// What it sent to itself did not arrive; `before` tells whether anything ever had.
    Silent {
        before: bool,
    },
}

/// Listens until it is stopped, and connects again for as long as that takes.
pub(crate) async fn run(outbox: Outbox, ears: Ears, stop: CancellationToken) {
    let mut reconnect = ears.reconnect(&outbox);
    while !stop.is_cancelled() {
        ears.tell(&outbox, Listening::Connecting);
        let lost = tokio::select! {
            () = stop.cancelled() => break,
            lost = listen(&outbox, ears, &mut reconnect) => lost,
        };
        // A worker polls more often from now on.
        ears.wake(&outbox);
        match lost {
            Lost::Failed(error) => reconnect.failed(&error, &stop).await,
            Lost::Silent { before: true } => {
                tracing::warn!(
                    "the listener's connection is dead: what was sent to it did not arrive; connecting again"
                );
            }
            Lost::Silent { before: false } => {
                ears.tell(&outbox, Listening::Deaf);
                tracing::warn!(
                    "notifications do not arrive here, so the work of other processes is found by polling; behind a transaction \
                     pooler say `.transaction_pooler()`, or give the engine a direct connection"
                );
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = sleep(DEAF_DELAY) => {}
                }
            }
        }
    }
    ears.tell(&outbox, Listening::Off);
}

/// Connects and listens until the connection is lost.
async fn listen(outbox: &Outbox, ears: Ears, reconnect: &mut Reconnect) -> Lost {
    let own = format!("outbox_{}", Uuid::new_v4().simple());
    let connected = timeout(lane::CONNECT_LIMIT, connect(outbox, ears, &own)).await;
    let mut listener = match connected {
        Ok(Ok(listener)) => listener,
        // It is the listener's own pool, of one connection, that "timed out": a user would look for the fault in his.
        Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => {
            return Lost::Failed(LaneError::Unconnected(lane::CONNECT_LIMIT));
        }
        Ok(Err(error)) => return Lost::Failed(error.into()),
    };
    // Whatever was committed before this LISTEN took hold.
    ears.wake(outbox);
    let heard = Notify::new();
    tokio::select! {
        error = hear(outbox, ears, &mut listener, &own, &heard) => Lost::Failed(error.into()),
        lost = prove(outbox, ears, &own, &heard, reconnect) => lost,
    }
}

async fn connect(outbox: &Outbox, ears: Ears, own: &str) -> Result<PgListener, sqlx::Error> {
    // A pool of its own, of one connection: a listener must never share one.
    let options = outbox.engine_options().as_ref().clone().application_name(ears.purpose());
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(lane::CONNECT_LIMIT).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    // It would connect again without the settings, and without our backoff.
    listener.eager_reconnect(false);
    listener.execute("set idle_session_timeout = 0").await?;
    listener.listen_all([outbox.inner().wake.channel(), own]).await?;
    Ok(listener)
}

/// Wakes whoever it listens for at each notification of others. One to ourselves only proves that the connection works, and that of our own
/// commits comes behind the kick that has already woken everybody here.
async fn hear(outbox: &Outbox, ears: Ears, listener: &mut PgListener, own: &str, heard: &Notify) -> sqlx::Error {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) if notification.channel() == own => heard.notify_one(),
            Ok(Some(notification)) if outbox.inner().wake.sent(notification.payload()) => {}
            Ok(Some(_)) => ears.wake(outbox),
            Ok(None) => return sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into()),
            Err(error) => return error,
        }
    }
}

/// Sends to itself, by another connection, and waits for it. A pooler would hand back over the same connection what it does not
/// hand on to a waiting one.
async fn prove(outbox: &Outbox, ears: Ears, own: &str, heard: &Notify, reconnect: &mut Reconnect) -> Lost {
    let mut proven = Instant::now();
    let mut before = false;
    loop {
        let sent = outbox.inner().wake.heartbeat(own).await;
        if sent.is_ok() {
            if timeout(HEARD_WITHIN, heard.notified()).await.is_err() {
                return Lost::Silent { before };
            }
            (proven, before) = (Instant::now(), true);
            reconnect.succeeded();
            ears.tell(outbox, Listening::Hears);
            sleep(PROVE_EVERY).await;
        } else if came_back_to_its_sender(&sent) {
            return Lost::Silent { before };
        } else if proven.elapsed() > UNPROVEN_LIMIT {
            return Lost::Failed(LaneError::Deadline(UNPROVEN_LIMIT));
        } else {
            sleep(HEARD_WITHIN).await;
        }
    }
}

/// A sender listens to nothing. What arrives at one instead of an answer was meant for a listener whose session a pooler has lent to it, and
/// lends to it again at each try.
fn came_back_to_its_sender(sent: &Result<(), LaneError>) -> bool {
    matches!(sent, Err(LaneError::Database(sqlx::Error::Protocol(said))) if said.contains("NotificationResponse"))
}
