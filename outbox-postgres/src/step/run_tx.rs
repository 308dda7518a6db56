//! run, of a handler that takes the transaction: begin, call, settle, commit. The connection is the application's; it is closed where its
//! state is not known.
//!
//! Of executions that follow each other on a connection, the next one's transaction begins in the round trip of the commit before it.

use std::time::{Duration, Instant};

use outbox_core::Outcome;
use outbox_core::transition::{Next, Reason};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::run::{Ended, Execution, NO_CONNECTION_DELAY, Ran};
use super::settle_tx::{self, TxSettled};
use crate::executing::Executing;
use crate::scope::Scope;
use crate::sqlstate::{self, Class};

/// Longest wait for a connection of the application's pool, and for the transaction on it.
const BEGIN_LIMIT: Duration = Duration::from_secs(3);
/// Longest wait for what ends it: a commit can wait for a replica.
const END_LIMIT: Duration = Duration::from_secs(5);
/// A transaction that began longer ago is not handed on: its `now()` would be that old.
const FRESH: Duration = Duration::from_millis(20);

/// A transaction that is open for a handler. Dropped, it is rolled back by whatever uses its connection next.
pub(crate) struct Open<'c> {
    /// The same one for all that follow each other, which sqlx takes for one transaction.
    transaction: Transaction<'c, Postgres>,
    begun: Begun,
}

/// How a transaction began.
struct Begun {
    /// What its settle knows it by.
    name: Uuid,
    /// Of the handler that it began for.
    timeout: Duration,
    /// Not before this, and neither does its `now()` lie before this.
    since: Instant,
}

/// What an execution leaves behind.
pub(crate) enum Left<'c> {
    /// The transaction of the next one.
    Next(Open<'c>),
    /// A connection in good order, in no transaction.
    Nothing,
    /// A connection whose state is not known.
    Unknown,
}

impl Begun {
    /// Whether an execution can have it whose handler has this timeout, and whose job was here at `came_at`. One that began before that
    /// would have the event published behind its `now()`.
    fn suits(&self, timeout: Duration, came_at: Instant) -> bool {
        self.timeout == timeout && self.since >= came_at && self.since.elapsed() <= FRESH
    }
}

impl Open<'_> {
    /// The same for this execution, or another one in its place: one round trip, as any begin is.
    pub(crate) async fn suiting(mut self, execution: &Execution) -> Result<Self, sqlx::Error> {
        let timeout = execution.handler.settings.timeout;
        if self.begun.suits(timeout, execution.job.came_at) {
            return Ok(self);
        }
        let begun = Begun { name: self.begun.name, timeout, since: Instant::now() };
        let text = format!("rollback; {}", settle_tx::begin(begun.name, timeout));
        within(BEGIN_LIMIT, self.transaction.execute(AssertSqlSafe(text))).await?;
        Ok(Self { begun, ..self })
    }

    /// Commits it, and begins one of this name in the same round trip. When the commit is refused, the server does nothing of what is
    /// behind it, and no transaction is open.
    async fn commit_and_begin(mut self, name: Uuid) -> Result<Self, sqlx::Error> {
        let begun = Begun { name, timeout: self.begun.timeout, since: Instant::now() };
        let text = format!("commit; {}", settle_tx::begin(name, begun.timeout));
        within(END_LIMIT, self.transaction.execute(AssertSqlSafe(text))).await?;
        Ok(Self { begun, ..self })
    }

    /// A handler that ended its transaction and then failed has had its effect: tried again, it would have it twice.
    async fn is_the_same(&mut self) -> bool {
        let asked = async { Ok(settle_tx::is_the_same(&mut self.transaction, self.begun.name).await) };
        within(END_LIMIT, asked).await.unwrap_or(true)
    }
}

impl<'c> Open<'c> {
    pub(crate) async fn roll_back(self) -> Left<'c> {
        if within(END_LIMIT, self.transaction.rollback()).await.is_ok() { Left::Nothing } else { Left::Unknown }
    }
}

impl Execution {
    /// The only one on its connection.
    pub(super) async fn run_in_transaction(&self, started: Instant) -> Ran {
        let mut connection = match self.connection(started).await {
            Ok(connection) => connection,
            Err(ran) => return ran,
        };
        let (ran, sound) = match self.open(&mut connection).await {
            Ok(open) => {
                let (ran, left) = self.in_transaction(open, || None, started).await;
                (ran, !matches!(left, Left::Unknown))
            }
            Err(error) => (self.no_connection(&error, started), false),
        };
        if !sound {
            connection.close_on_drop();
        }
        ran
    }

    /// One of those that follow each other on a connection. `next` is asked at the commit: the name of the transaction that begins with it,
    /// where another execution waits. Never panics, whatever the handler does.
    pub(crate) async fn run_in<'c>(&self, open: Open<'c>, next: impl FnOnce() -> Option<Uuid>) -> (Ran, Left<'c>) {
        let started = Instant::now();
        let Some(_under_way) = Executing::begin(&self.outbox, self.job.job_id) else {
            return (self.put_off(started), open.roll_back().await);
        };
        match self.without_a_call(started) {
            Some(ran) => (ran, open.roll_back().await),
            None => self.in_transaction(open, next, started).await,
        }
    }

    /// A connection of the application's pool; or what it comes to without.
    pub(crate) async fn connection(&self, started: Instant) -> Result<PoolConnection<Postgres>, Ran> {
        let acquired = tokio::select! {
            // Within a limit of ours: the pool's own is half a minute, and is spent on each idle connection that died silently.
            connection = within(BEGIN_LIMIT, self.outbox.pool().acquire()) => connection,
            () = self.signals.kill.cancelled() => return Err(self.unsettled(Next::Return, None, started)),
        };
        match acquired {
            Ok(connection) => Ok(connection),
            Err(error) => {
                // The slot waits, not the job alone: a pool that refuses at once would otherwise be asked by the whole backlog.
                tokio::select! {
                    () = tokio::time::sleep(NO_CONNECTION_DELAY) => {}
                    () = self.signals.cancel.cancelled() => {}
                }
                Err(self.no_connection(&error, started))
            }
        }
    }

    /// Its transaction, named for its claim.
    pub(crate) async fn open<'c>(&self, connection: &'c mut PgConnection) -> Result<Open<'c>, sqlx::Error> {
        let (name, timeout) = (self.job.claim_id, self.handler.settings.timeout);
        let begun = Begun { name, timeout, since: Instant::now() };
        let transaction = connection.begin_with(AssertSqlSafe(settle_tx::begin(name, timeout)));
        Ok(Open { transaction: within(BEGIN_LIMIT, transaction).await?, begun })
    }

    async fn in_transaction<'c>(
        &self,
        mut open: Open<'c>,
        next: impl FnOnce() -> Option<Uuid>,
        started: Instant,
    ) -> (Ran, Left<'c>) {
        // Asked once more: it may have waited for the connection for seconds.
        if self.job.is_expired() {
            return (self.expired(started), open.roll_back().await);
        }
        let scope = self.scope();
        let ended = self.call(&scope, Some(&mut open.transaction)).await;
        match ended {
            Ended::Returned(Outcome::Done) => self.commit(open, &scope, next, started).await,
            Ended::Returned(_) if !open.is_the_same().await => (self.transaction_was_ended(started), Left::Unknown),
            Ended::Returned(_) => (self.ended(&ended, started), open.roll_back().await),
            // A future that was dropped or that panicked may have left an answer unread.
            Ended::Panicked(_) | Ended::TimedOut | Ended::Killed => (self.ended(&ended, started), Left::Unknown),
        }
    }

    /// The handler is done: mark and completion join its transaction, which then commits.
    async fn commit<'c>(
        &self,
        mut open: Open<'c>,
        scope: &Scope,
        next: impl FnOnce() -> Option<Uuid>,
        started: Instant,
    ) -> (Ran, Left<'c>) {
        let (statements, mark, name) = (self.outbox.statements(), self.handler.original_name(), open.begun.name);
        let settle = settle_tx::settle_tx(&mut open.transaction, statements, &self.job, mark, name);
        match within(END_LIMIT, settle).await {
            Ok(TxSettled::Ready) => {}
            Ok(TxSettled::LeaseLost) => {
                return (Ran::LeaseLost, open.roll_back().await);
            }
            Ok(TxSettled::Duplicate) => {
                let left = open.roll_back().await;
                return (self.unsettled(Next::Succeeded(Some(Reason::Duplicate)), None, started), left);
            }
            Ok(TxSettled::NotTheSame) => return (self.transaction_was_ended(started), Left::Unknown),
            Err(error) => {
                return (self.failed(&explain("settling the handler's transaction", &error), started), Left::Unknown);
            }
        }
        let committed = match next() {
            Some(name) => open.commit_and_begin(name).await.map(Left::Next),
            None => within(END_LIMIT, open.transaction.commit()).await.map(|()| Left::Nothing),
        };
        match committed {
            Ok(left) => (Ran::Committed { published: scope.has_published() }, left),
            // Either the commit was refused, or its answer was lost. In the second case the job may be gone: then settling
            // it changes nothing, because the claim no longer stands.
            Err(error) => {
                if scope.has_published() {
                    self.outbox.kick();
                }
                (self.failed(&explain("committing the handler's transaction", &error), started), Left::Unknown)
            }
        }
    }
}

/// One of the engine's own statements, within its limit. Boxed, because sqlx's futures are large, and each future around one would be as
/// large, and be moved so.
fn within<'f, T>(
    limit: Duration,
    statement: impl Future<Output = Result<T, sqlx::Error>> + Send + 'f,
) -> impl Future<Output = Result<T, sqlx::Error>> + Send + 'f {
    let statement = tokio::time::timeout(limit, Box::pin(statement));
    async move {
        statement.await.unwrap_or_else(|_| {
            Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("no answer from the database within {limit:?}"),
            )))
        })
    }
}

fn explain(what: &str, error: &sqlx::Error) -> String {
    match sqlstate::classify(error) {
        Class::Connection => format!("{what}: {error}; whether it took place is not known"),
        _ => format!("{what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn begun(since: Instant) -> Begun {
        Begun { name: Uuid::nil(), timeout: TIMEOUT, since }
    }

    /// An event that was published while a commit was under way lies behind the beginning of what began with it.
    #[test]
    fn no_handler_has_a_transaction_that_began_before_its_job_was_here() {
        let came_at = Instant::now();
        assert!(begun(came_at + Duration::from_micros(1)).suits(TIMEOUT, came_at));
        let Some(before) = came_at.checked_sub(Duration::from_micros(1)) else { return };
        assert!(!begun(before).suits(TIMEOUT, came_at));
    }

    #[test]
    fn no_handler_has_the_limits_of_another() {
        let came_at = Instant::now();
        assert!(!begun(came_at).suits(TIMEOUT / 2, came_at));
    }

    /// A commit can wait for a replica for seconds, and so long ago was the `now()` of what began with it.
    #[test]
    fn no_handler_has_a_transaction_that_began_long_ago() {
        let Some(long_ago) = Instant::now().checked_sub(Duration::from_secs(1)) else { return };
        assert!(!begun(long_ago).suits(TIMEOUT, long_ago));
    }
}
