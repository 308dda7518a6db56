use std::sync::Arc;

use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use super::error::LeaseError;
use crate::discreet::discreet;
use crate::step::lease::LeaseStatements;

/// A lease that the work has.
#[derive(Debug, Clone)]
pub struct Held {
    name: Arc<str>,
    token: i64,
    lost: CancellationToken,
    statements: LeaseStatements,
}

impl Held {
    pub(super) fn new(name: Arc<str>, token: i64, lost: CancellationToken, statements: LeaseStatements) -> Self {
        Self { name, token, lost, statements }
    }

    /// The name of the lease.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Grows with each owner of this lease: what stores the newest token that it has seen can refuse an owner that has been replaced.
    #[must_use]
    pub fn token(&self) -> i64 {
        self.token
    }

    /// Fires when the lease is lost. The work's own future is dropped at that moment; this is for what it started elsewhere, and for
    /// code that blocks.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Ties a transaction to the lease: from here to its end nobody else can become the owner, so what it writes is written by the
    /// owner or not at all. Renewals go on meanwhile. One statement.
    ///
    /// # Errors
    /// [`LeaseError::Fenced`] when somebody else is the owner by now: roll back. [`LeaseError::Unreachable`] when the database refuses.
    pub async fn fence(&self, transaction: &mut PgConnection) -> Result<(), LeaseError> {
        match self.statements.fence(transaction, &self.name, self.token).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(LeaseError::Fenced(Arc::clone(&self.name))),
            Err(error) => Err(LeaseError::Unreachable { name: Arc::clone(&self.name), source: discreet(error) }),
        }
    }
}
