//! Sessions that hold what others want.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Postgres, Row as _};

use crate::eventually::{DEADLINE, eventually};

/// SQLSTATE of a lock that was not given within `lock_timeout`.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// SQLSTATE of a statement that was not over within `statement_timeout`.
const QUERY_CANCELED: &str = "57014";

/// Why there is no session that holds a lock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else held it for longer than was to be waited. Nothing is held, and nobody waits behind the request any more.
    #[error("waited {waited:?} in vain for `{what}`: somebody else holds it; `pg_blocking_pids` names who that is")]
    NotGiven {
        /// The statement that asked for it.
        what: String,
        /// How long it was waited for.
        waited: Duration,
        /// What the server said.
        source: sqlx::Error,
    },
    /// The server could not be reached, or refused.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A session with an open transaction that holds something. Dropping it closes the connection, and the server rolls back. It is
/// called `fault session` in `pg_stat_activity`.
///
/// ```no_run
/// use outbox_testing::fault::Session;
///
/// # async fn example(url: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let mut session = Session::lock_rows(url, "select 1 from orders.order where id = 1 for update").await?;
/// // start what is to meet the lock, then:
/// session.until_somebody_waits().await;
/// session.rollback().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Session {
    connection: PgConnection,
    pid: i32,
}

impl Session {
    /// Holds the rows that `query` locks, for instance `select 1 from orders.order for update`. It waits for them for at most
    /// [`DEADLINE`](crate::DEADLINE).
    ///
    /// # Errors
    /// [`LockError::NotGiven`] when somebody else holds one of them for that long; else when the server cannot be reached, or
    /// refuses the query.
    pub async fn lock_rows(url: &str, query: &str) -> Result<Self, LockError> {
        Self::lock_rows_within(url, query, DEADLINE).await
    }

    /// As [`lock_rows`](Self::lock_rows), and waits for all of them together for at most `bound`, in milliseconds and at least one.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
    pub async fn lock_rows_within(url: &str, query: &str, bound: Duration) -> Result<Self, LockError> {
        Self::lock(url, query, bound).await
    }

    /// Holds a lock on a whole table, in a mode such as `access exclusive` or `share row exclusive`. It waits for it for at most
    /// [`DEADLINE`](crate::DEADLINE), and while it does, whoever wants a lock that conflicts with this mode waits behind it.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
    pub async fn lock_table(url: &str, table: &str, mode: &str) -> Result<Self, LockError> {
        Self::lock_table_within(url, table, mode, DEADLINE).await
    }

    /// As [`lock_table`](Self::lock_table), and waits for at most `bound`, in milliseconds and at least one.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
    pub async fn lock_table_within(url: &str, table: &str, mode: &str, bound: Duration) -> Result<Self, LockError> {
        Self::lock(url, &format!("lock table {table} in {mode} mode"), bound).await
    }

    /// Holds a snapshot: dead rows stay, and so does whatever waits for the oldest snapshot.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn snapshot(url: &str) -> Result<Self, sqlx::Error> {
        // The transaction takes its snapshot at its first read.
        Self::begin(url, "begin isolation level repeatable read", "select count(*) from pg_catalog.pg_class").await
    }

    /// Holds a transaction open that has written: `statement`, and its own id, later than which nobody's snapshot ends.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn write(url: &str, statement: &str) -> Result<Self, sqlx::Error> {
        let mut session = Self::begin(url, "begin", "select pg_current_xact_id()").await?;
        session.execute(statement).await?;
        Ok(session)
    }

    /// Its backend, as in `pg_stat_activity.pid`.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Runs another statement in its transaction.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn execute(&mut self, statement: &str) -> Result<(), sqlx::Error> {
        self.connection.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.map(drop)
    }

    /// How many sessions wait for this one at the moment.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn waiting(&mut self) -> Result<usize, sqlx::Error> {
        let waiting = sqlx::query_scalar::<_, i64>(
            "select count(distinct pid) from pg_catalog.pg_locks \
             where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))",
        );
        let waiting = waiting.fetch_one(&mut self.connection).await?;
        Ok(usize::try_from(waiting).unwrap_or(0))
    }

    /// Waits until another session waits for this one.
    ///
    /// # Panics
    /// When that takes longer than [`DEADLINE`](crate::DEADLINE), or when the session is gone.
    pub async fn until_somebody_waits(&mut self) {
        eventually("another session waits for this one", async || {
            (self.waiting().await.expect("the session that holds is there") > 0).then_some(())
        })
        .await;
    }

    /// Ends it, and what it has written is as if it had never been.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn rollback(self) -> Result<(), sqlx::Error> {
        self.end("rollback").await
    }

    /// Ends it, and what it has written stays.
    ///
    /// # Errors
    /// When the session is gone, or the server refuses.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        self.end("commit").await
    }

    async fn end(mut self, how: &str) -> Result<(), sqlx::Error> {
        self.execute(how).await?;
        self.connection.close().await
    }

    async fn begin(url: &str, begin: &str, statement: &str) -> Result<Self, sqlx::Error> {
        let mut session = Self::open(url).await?;
        session.execute(begin).await?;
        session.execute(statement).await?;
        Ok(session)
    }

    async fn lock(url: &str, what: &str, bound: Duration) -> Result<Self, LockError> {
        let mut session = Self::open(url).await?;
        let bound_ms = bound.as_millis().max(1);
        // The bound of a lock is one of each row; that of the statement is one of all together.
        session
            .execute(&format!("begin; set local lock_timeout = {bound_ms}; set local statement_timeout = {bound_ms}"))
            .await?;
        session.execute(what).await.map_err(|source| {
            let code = source.as_database_error().and_then(|error| error.code().map(std::borrow::Cow::into_owned));
            match code.as_deref() {
                Some(LOCK_NOT_AVAILABLE | QUERY_CANCELED) => {
                    LockError::NotGiven { what: what.to_owned(), waited: bound, source }
                }
                _ => LockError::Database(source),
            }
        })?;
        session.execute("set local lock_timeout = 0; set local statement_timeout = 0").await?;
        Ok(session)
    }

    async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let mut connection = PgConnection::connect(url).await?;
        // Whoever holds something for a test holds it as long as the test wants.
        let settings = "set application_name = 'fault session'; set idle_in_transaction_session_timeout = 0; \
                        set statement_timeout = 0; set lock_timeout = 0";
        connection.execute(settings).await?;
        let pid = sqlx::query("select pg_backend_pid()").fetch_one(&mut connection).await?.try_get(0)?;
        Ok(Self { connection, pid })
    }
}

/// All connections of a pool, taken. They go back when this is dropped.
#[derive(Debug)]
pub struct FullPool {
    taken: Vec<PoolConnection<Postgres>>,
}

impl FullPool {
    /// Takes every connection that the pool may have, waiting for those that are in use.
    ///
    /// # Errors
    /// When the pool does not give them all within its own limit of time.
    pub async fn take(pool: &PgPool) -> Result<Self, sqlx::Error> {
        let mut taken = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            taken.push(pool.acquire().await?);
        }
        Ok(Self { taken })
    }

    /// Gives one back. `false` when there is none left.
    pub fn give_one_back(&mut self) -> bool {
        self.taken.pop().is_some()
    }
}
