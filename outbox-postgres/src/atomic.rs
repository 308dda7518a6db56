//! Several statements in one transaction: one of their own, or the one that the lane began for the step.

use std::ops::{Deref, DerefMut};

use sqlx::{Connection as _, PgConnection, Postgres, Transaction};

/// Dropped without [`commit`](Self::commit), what was done is undone: here, or by the lane when the step has failed.
pub(crate) enum Atomic<'c> {
    Own(Transaction<'c, Postgres>),
    /// Behind a transaction pooler. The lane commits it, right after the step.
    Joined(&'c mut PgConnection),
}

impl<'c> Atomic<'c> {
    pub(crate) async fn begin(connection: &'c mut PgConnection) -> Result<Self, sqlx::Error> {
        if connection.is_in_transaction() {
            return Ok(Self::Joined(connection));
        }
        Ok(Self::Own(connection.begin().await?))
    }

    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(transaction) => transaction.commit().await,
            Self::Joined(_) => Ok(()),
        }
    }

    /// Ends it where nothing was changed.
    pub(crate) async fn leave(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(transaction) => transaction.rollback().await,
            Self::Joined(_) => Ok(()),
        }
    }
}

impl Deref for Atomic<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Own(transaction) => transaction,
            Self::Joined(connection) => connection,
        }
    }
}

impl DerefMut for Atomic<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(transaction) => transaction,
            Self::Joined(connection) => connection,
        }
    }
}
