//! Sessions that hold what others want.

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Postgres, Row as _};

use crate::eventually::eventually;

/// A session with an open transaction that holds something. Dropping it closes the connection, and the server rolls back.
///
/// ```no_run
/// use outbox_testing::fault::Session;
///
/// # async fn example(url: &str) -> Result<(), sqlx::Error> {
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
    /// Holds the rows that `query` locks, for instance `select 1 from orders.order for update`.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses the query.
    pub async fn lock_rows(url: &str, query: &str) -> Result<Self, sqlx::Error> {
        Self::begin(url, "begin", query).await
    }

    /// Holds a lock on a whole table, in a mode such as `access exclusive` or `share row exclusive`.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
    pub async fn lock_table(url: &str, table: &str, mode: &str) -> Result<Self, sqlx::Error> {
        Self::begin(url, "begin", &format!("lock table {table} in {mode} mode")).await
    }

    /// Holds a snapshot: dead rows stay, and so does whatever waits for the oldest snapshot.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
    pub async fn snapshot(url: &str) -> Result<Self, sqlx::Error> {
        // The transaction takes its snapshot at its first read.
        Self::begin(url, "begin isolation level repeatable read", "select count(*) from pg_catalog.pg_class").await
    }

    /// Holds a transaction open that has written: `statement`, and its own id, later than which nobody's snapshot ends.
    ///
    /// # Errors
    /// As [`lock_rows`](Self::lock_rows).
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
        let mut connection = PgConnection::connect(url).await?;
        // Whoever holds something for a test holds it as long as the test wants.
        connection.execute("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0").await?;
        let pid = sqlx::query("select pg_backend_pid()").fetch_one(&mut connection).await?.try_get(0)?;
        let mut session = Self { connection, pid };
        session.execute(begin).await?;
        session.execute(statement).await?;
        Ok(session)
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
