//! A short action that one process does at a time, by an advisory lock of PostgreSQL that a session holds.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{PgConnection, PgPool, Row as _};

use crate::lane::{Lane, LaneError, Sharing};
use crate::outbox::Outbox;

/// Longest wait for each statement.
const LIMIT: Duration = Duration::from_secs(3);
/// How often the session is asked whether it still has the lock.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A lock that lasts as long as a connection of its own: for a short action, as a migration or a nightly clean-up that must not run twice
/// at once. It needs no table.
///
/// It ends with the connection, so a process that dies leaves it at once, and a server that restarts ends it for everybody. There is no
/// token: what the action writes over other connections is not fenced. For work that lasts, or that must not overlap by a moment, take a
/// [lease](crate::Leases).
///
/// ```no_run
/// # async fn example(pool: sqlx::PgPool) -> Result<(), outbox_postgres::SessionLockError> {
/// outbox_postgres::SessionLock::new(&pool, "thumbnails.clean_up")
///     .try_run(async || println!("nobody else does this now"))
///     .await
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a lock does nothing before it is run"]
pub struct SessionLock {
    options: Arc<PgConnectOptions>,
    sharing: Sharing,
    name: Arc<str>,
}

/// A lock that was not had, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionLockError {
    /// Another session has it.
    #[error("the session lock `{0}` is held by another session")]
    Taken(Arc<str>),
    /// The connection, and the lock with it, was lost. The action was dropped.
    #[error("the connection that held the session lock `{0}` was lost, and the action was dropped")]
    Lost(Arc<str>),
    /// Behind a transaction pooler the session is somebody else's in the next moment.
    #[error(
        "the session lock `{0}` needs a session of its own, which a transaction pooler does not give: set `direct(..)`, or take a lease"
    )]
    Pooled(Arc<str>),
    /// The database did not answer, or refused.
    #[error("the session lock `{name}` could not be asked for: {source}")]
    Unreachable {
        /// Its name.
        name: Arc<str>,
        /// What it said.
        source: sqlx::Error,
    },
}

impl Outbox {
    /// A lock for a short action, in this outbox's database: see [`SessionLock`].
    pub fn session_lock(&self, name: impl Into<Arc<str>>) -> SessionLock {
        SessionLock { options: self.engine_options(), sharing: self.config().sharing(), name: name.into() }
    }
}

impl SessionLock {
    /// The lock of this name in this pool's database; the pool's own connections are left to the application.
    pub fn new(pool: &PgPool, name: impl Into<Arc<str>>) -> Self {
        Self { options: pool.connect_options(), sharing: Sharing::Ours, name: name.into() }
    }

    /// Does the action, unless another session has the lock.
    ///
    /// # Errors
    /// See [`SessionLockError`]. What the action itself answers is the value.
    ///
    /// # Cancel safety
    /// Dropped in the middle, the action is dropped, then the connection and with it the lock.
    pub async fn try_run<T>(self, action: impl AsyncFnOnce() -> T) -> Result<T, SessionLockError> {
        if self.sharing == Sharing::Pooled {
            return Err(SessionLockError::Pooled(self.name));
        }
        let mut lane = Lane::new(&self.options, self.sharing, "lock");
        let locked = lane.run(LIMIT, async |connection: &mut _| lock(connection, &self.name).await).await;
        match locked {
            Ok(true) => {}
            Ok(false) => return Err(SessionLockError::Taken(self.name)),
            Err(error) => return Err(SessionLockError::Unreachable { name: self.name, source: error.into() }),
        }
        let done = {
            let action = Box::pin(action());
            tokio::select! {
                biased;
                done = action => Some(done),
                () = until_lost(&mut lane, &self.name) => None,
            }
        };
        // The lock ends with the session.
        lane.close().await;
        done.ok_or(SessionLockError::Lost(self.name))
    }
}

async fn until_lost(lane: &mut Lane, name: &str) {
    loop {
        tokio::time::sleep(ASK_AGAIN).await;
        // A session that was lost comes back as another one, which does not have it.
        let asked: Result<bool, LaneError> =
            lane.run(LIMIT, async |connection: &mut _| has(connection, name).await).await;
        match asked {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(
                    lock = name,
                    error = crate::error::told(&error),
                    "nobody says whether the session lock still stands"
                );
                return;
            }
        }
    }
}

async fn lock(connection: &mut PgConnection, name: &str) -> Result<bool, sqlx::Error> {
    let text = "select pg_try_advisory_lock(hashtextextended('outbox session lock ' || $1, 0))";
    sqlx::query_scalar(text).bind(name).fetch_one(connection).await
}

async fn has(connection: &mut PgConnection, name: &str) -> Result<bool, sqlx::Error> {
    let text = "select count(*) > 0 from pg_locks l
                where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.granted and l.objsubid = 1
                  and (l.classid::bigint << 32) | l.objid::bigint = hashtextextended('outbox session lock ' || $1, 0)";
    sqlx::query(text).bind(name).fetch_one(connection).await?.try_get(0)
}
