//! Connections of the application's pool, from one short transaction of a handler straight to the next.
//!
//! A connection that goes back to the pool makes a round trip on its way, because sqlx asks it whether it lives; of a quick handler's
//! round trips that is one in five. So a connection in good order waits here a moment for the next handler. It goes back when none
//! comes, and when it has been away for a while: the pool's queue is fair, and the application's own requests stand in it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

/// How long a connection goes from handler to handler before it goes back all the same.
const AWAY: Duration = Duration::from_millis(20);
/// How long it waits for the next one.
const PATIENCE: Duration = Duration::from_millis(1);

/// The connections that wait for a handler.
#[derive(Default)]
pub(crate) struct HandOver(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    connections: Vec<(Instant, Lent)>,
    /// Whether somebody takes those back for which no handler came.
    watched: bool,
}

/// A connection of the application's pool. Dropped, it goes back.
pub(crate) struct Lent {
    connection: PoolConnection<Postgres>,
    since: Instant,
}

impl HandOver {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Each change is whole before the next line, so a panic leaves nothing half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that waits. A pool that is closed gives none; those that wait here go back to it by themselves.
    pub(crate) fn waits(&self, pool: &PgPool) -> Option<Lent> {
        if pool.is_closed() { None } else { self.waiting().connections.pop().map(|(_, lent)| lent) }
    }

    /// One of the pool.
    pub(crate) async fn lend(pool: &PgPool) -> Result<Lent, sqlx::Error> {
        Ok(Lent { connection: pool.acquire().await?, since: Instant::now() })
    }

    /// For the next handler. The connection is in good order, and in no transaction.
    pub(crate) fn give(self: &Arc<Self>, lent: Lent) {
        let now = Instant::now();
        if now.duration_since(lent.since) >= AWAY {
            return;
        }
        let mut waiting = self.waiting();
        waiting.connections.push((now, lent));
        if !std::mem::replace(&mut waiting.watched, true) {
            tokio::spawn(Watch { over: Arc::clone(self), ended: false }.run());
        }
    }

    /// Those for which no handler came; the watch ends when none is left.
    fn in_vain(&self) -> (Vec<Lent>, bool) {
        let mut waiting = self.waiting();
        let in_vain = waiting.connections.extract_if(.., |(since, _)| since.elapsed() >= PATIENCE);
        let in_vain = in_vain.map(|(_, lent)| lent).collect();
        waiting.watched = !waiting.connections.is_empty();
        (in_vain, waiting.watched)
    }
}

/// Gives those back for which no handler came.
struct Watch {
    over: Arc<HandOver>,
    ended: bool,
}

impl Watch {
    async fn run(mut self) {
        while !self.ended {
            sleep(PATIENCE).await;
            let (in_vain, goes_on) = self.over.in_vain();
            drop(in_vain);
            self.ended = !goes_on;
        }
    }
}

/// The runtime ended in the middle: the next connection that waits begins another watch.
impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended {
            let left = std::mem::take(&mut *self.over.waiting());
            drop(left);
        }
    }
}

/// An outbox that outlives its runtime: no connection can go back to the pool there, and trying to would panic.
impl Drop for HandOver {
    fn drop(&mut self) {
        if Handle::try_current().is_err() {
            std::mem::take(&mut *self.waiting()).connections.into_iter().for_each(std::mem::forget);
        }
    }
}

impl Lent {
    /// Its state is not known: it is closed instead of going back.
    pub(crate) fn close(mut self) {
        self.connection.close_on_drop();
    }
}

impl Deref for Lent {
    type Target = PoolConnection<Postgres>;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.connection
    }
}

impl fmt::Debug for HandOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandOver").field("waiting", &self.waiting().connections.len()).finish()
    }
}
