//! A transaction whose commit wakes the workers.

use std::fmt;
use std::ops::{Deref, DerefMut};

use sqlx::{PgConnection, Postgres, Transaction};

use crate::outbox::Outbox;

/// A sqlx transaction on the application's pool; [`commit`](Self::commit) wakes the workers when something was published.
///
/// Dropped without a commit, it rolls back. For a transaction of your own, call [`Outbox::kick`] after its commit; without
/// it the jobs wait for the next poll.
pub struct OutboxTransaction {
    transaction: Transaction<'static, Postgres>,
    outbox: Outbox,
    published_before: u64,
}

impl OutboxTransaction {
    pub(crate) fn new(transaction: Transaction<'static, Postgres>, outbox: Outbox) -> Self {
        let published_before = outbox.published();
        Self { transaction, outbox, published_before }
    }

    /// Commits, then wakes the workers of this process at once and those of others by NOTIFY.
    ///
    /// # Errors
    /// When the commit fails. If the connection broke while it was under way, whether it took place is unknown; publish with
    /// a key, so that repeating the whole transaction is harmless.
    ///
    /// # Cancel safety
    /// Dropping this future leaves open whether the commit took place, as with any commit.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        self.transaction.commit().await?;
        // Counted in the whole process: a publish elsewhere meanwhile costs one needless kick, a kick too few one poll.
        if self.outbox.published() != self.published_before {
            self.outbox.kick();
        }
        Ok(())
    }

    /// Rolls back: neither rows, nor event, nor jobs exist.
    ///
    /// # Errors
    /// When the connection fails; the server then rolls back by itself.
    pub async fn rollback(self) -> Result<(), sqlx::Error> {
        self.transaction.rollback().await
    }
}

impl Deref for OutboxTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for OutboxTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}

impl fmt::Debug for OutboxTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxTransaction").finish_non_exhaustive()
    }
}
