//! A connection of the engine's own, for one service, with a deadline on every await.
//!
//! Handlers cannot take it, however many connections they want, and no service waits for another's. A statement whose answer
//! did not come in time leaves the connection in an unknown state, so the connection is closed; what the statement did is
//! then unknown too, and every statement of the engine is written so that running it again is harmless.
//!
//! Behind a transaction pooler a lane leaves nothing in the session, which is somebody else's in the next moment: each step runs
//! in a transaction of its own that begins with the lane's settings, in one round trip.

use std::fmt::{self, Write as _};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};

use crate::discreet::discreet;
use crate::sqlstate::{self, Class};

/// How many connections of its own the engine holds for a worker: claim, settle, renew, upkeep and clean, look now and then; schedule
/// where it runs one; listen and wake unless it only polls. A process that runs nothing holds wake.
pub(crate) fn held(runs_a_worker: bool, runs_schedules: bool, poll_only: bool) -> u32 {
    let waking = u32::from(!poll_only);
    if runs_a_worker { 6 + u32::from(runs_schedules) + 2 * waking } else { waking }
}

/// Longest wait for a new connection. With the longest pause between two tries it stays below five seconds: that is how soon
/// everything works again behind an outage of any kind.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// Longest wait of the server for a row that somebody else has locked.
const LOCK_LIMIT: Duration = Duration::from_millis(500);

/// Longest that the server works on one statement.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

/// How long the server keeps a transaction of this lane open that sends nothing: a process that froze in the middle of one must
/// not hold its locks, which would keep others from rescuing or from starting.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

/// One service's connection. It is made when it is first needed, and again after it broke.
pub(crate) struct Lane {
    options: PgConnectOptions,
    sharing: Sharing,
    lock_limit: Duration,
    statement_limit: Duration,
    own: Own,
    connection: Option<PgConnection>,
}

/// Settings of one lane, beside those that every lane has.
pub(crate) type Own = &'static [(&'static str, &'static str)];

/// For wake: a NOTIFY has nothing to keep. One that a crash of the server takes with it had nobody left to hear it.
pub(crate) const UNFLUSHED: Own = &[("synchronous_commit", "off")];

/// For claim and settle: each of their statements reads a bounded number of rows by index, or by place, and is planned once. The
/// planner knows nothing better: its statistics are those of a table that is empty in one minute and full in the next, and what
/// it would do instead is to read all of it, once a batch.
pub(crate) const BY_INDEX: Own = &[
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
];

/// Without the options, whose `Debug` prints the password.
impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("sharing", &self.sharing)
            .field("connected", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}

/// Whose the session behind a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Ours, for as long as the connection lasts.
    Ours,
    /// A pooler's, and ours for one transaction.
    Pooled,
}

/// A statement of the engine that did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaneError {
    #[error("no answer from the database within {0:?}")]
    Deadline(Duration),
    #[error("no connection to the database was made within {0:?}")]
    Unconnected(Duration),
    #[error(transparent)]
    Database(sqlx::Error),
}

impl From<sqlx::Error> for LaneError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(discreet(error))
    }
}

impl LaneError {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Deadline(_) | Self::Unconnected(_) => Class::Connection,
            Self::Database(error) => sqlstate::classify(error),
        }
    }
}

impl From<LaneError> for sqlx::Error {
    fn from(error: LaneError) -> Self {
        match error {
            LaneError::Database(error) => error,
            LaneError::Deadline(_) | LaneError::Unconnected(_) => {
                Self::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, error.to_string()))
            }
        }
    }
}

impl Lane {
    /// A lane for `purpose`, which shows in `pg_stat_activity`.
    pub(crate) fn new(options: &PgConnectOptions, sharing: Sharing, purpose: &str) -> Self {
        let options = options.clone().application_name(&format!("outbox {purpose}")).disable_statement_logging();
        Self { options, sharing, lock_limit: LOCK_LIMIT, statement_limit: STATEMENT_LIMIT, own: &[], connection: None }
    }

    /// The same lane with another limit for rows that somebody else has locked.
    pub(crate) fn with_lock_limit(self, lock_limit: Duration) -> Self {
        Self { lock_limit, ..self }
    }

    /// The same lane with another limit for what the server works on.
    pub(crate) fn with_statement_limit(self, statement_limit: Duration) -> Self {
        Self { statement_limit, ..self }
    }

    /// The same lane with settings of its own.
    pub(crate) fn with_settings(self, own: Own) -> Self {
        Self { own, ..self }
    }

    /// Runs one step within `limit`.
    pub(crate) async fn run<T>(
        &mut self,
        limit: Duration,
        step: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, LaneError> {
        let begin = (self.sharing == Sharing::Pooled).then(|| self.begin());
        self.run_with(limit, begin, step).await
    }

    /// Runs one statement within `limit` that must not stand in a transaction. Behind a transaction pooler it has the session's own
    /// settings, whatever they are.
    pub(crate) async fn run_alone<T>(
        &mut self,
        limit: Duration,
        step: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, LaneError> {
        self.run_with(limit, None, step).await
    }

    async fn run_with<T>(
        &mut self,
        limit: Duration,
        begin: Option<String>,
        step: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, LaneError> {
        // Out of the lane while the step runs: a future that is dropped in the middle takes the connection with it, whose state
        // nobody knows any more.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let run = async {
            match begin {
                None => step(&mut connection).await,
                Some(begin) => in_transaction(&mut connection, begin, step).await,
            }
        };
        let result = match tokio::time::timeout(limit, run).await {
            Ok(result) => result.map_err(LaneError::from),
            Err(_) => Err(LaneError::Deadline(limit)),
        };
        if !result.as_ref().is_err_and(|error| error.class() == Class::Connection) {
            self.connection = Some(connection);
        }
        result
    }

    /// Closes the connection, politely and not for long.
    pub(crate) async fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = tokio::time::timeout(Duration::from_millis(500), connection.close()).await;
        }
    }

    async fn connect(&self) -> Result<PgConnection, LaneError> {
        let attempt = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            if self.sharing == Sharing::Ours {
                connection.execute(AssertSqlSafe(self.session())).await?;
            }
            Ok(connection)
        };
        tokio::time::timeout(CONNECT_LIMIT, attempt).await.unwrap_or(Err(LaneError::Deadline(CONNECT_LIMIT)))
    }

    /// What a session of ours begins with.
    fn session(&self) -> String {
        // Rescue and backfill rely on a fresh snapshot for each of their statements, whatever the application has as default.
        format!(
            "{}; set idle_session_timeout = 0; set default_transaction_isolation = 'read committed'",
            self.settings("set")
        )
    }

    /// What a transaction in somebody else's session begins with.
    fn begin(&self) -> String {
        format!("begin isolation level read committed; {}", self.settings("set local"))
    }

    fn settings(&self, set: &str) -> String {
        // jit: estimates trigger compilation at every execution of the claim, for ten times its cost.
        // plan_cache_mode: what runs now and then is planned for the tables as they are, at the cost of a millisecond.
        let mut settings = format!(
            "{set} jit = off; {set} plan_cache_mode = force_custom_plan; {set} lock_timeout = {}; {set} statement_timeout = {}; \
             {set} idle_in_transaction_session_timeout = {}",
            self.lock_limit.as_millis(),
            self.statement_limit.as_millis(),
            IDLE_LIMIT.as_millis()
        );
        for (name, value) in self.own {
            let _ = write!(settings, "; {set} {name} = {value}");
        }
        settings
    }
}

/// What a session of a lane begins with, for tests that look at plans: of claim and settle, or of the others.
#[must_use]
pub fn session_of_a_lane(by_index: bool) -> String {
    let lane = Lane::new(&PgConnectOptions::new_without_pgpass(), Sharing::Ours, "plan");
    lane.with_settings(if by_index { BY_INDEX } else { &[] }).session()
}

/// The step, between `begin` and a commit. One that fails is rolled back at once: its locks would otherwise stay until the next.
async fn in_transaction<T>(
    connection: &mut PgConnection,
    begin: String,
    step: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    let mut transaction = connection.begin_with(AssertSqlSafe(begin)).await?;
    match step(&mut transaction).await {
        Ok(done) => transaction.commit().await.map(|()| done),
        Err(error) => Err(transaction.rollback().await.err().unwrap_or(error)),
    }
}
