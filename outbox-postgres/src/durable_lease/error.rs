use std::sync::Arc;
use std::time::Duration;

use outbox_core::lease::BOUNDS;

/// A lease that was not had, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Somebody else has it.
    #[error("the lease `{name}` is held by `{holder}`, for {left:.1?} more unless it is renewed")]
    Taken {
        /// Its name.
        name: Arc<str>,
        /// Who has it, by the name that they gave themselves; empty when they have just given it back, or are just taking it.
        holder: String,
        /// How much longer it stands.
        left: Duration,
    },
    /// It could not be renewed in time, or an operator ended it. The work was dropped before anybody else could begin.
    #[error("the lease `{0}` was lost, and its work was dropped")]
    Lost(Arc<str>),
    /// A transaction is not the owner's any more, and must not commit.
    #[error("the lease `{0}` is somebody else's by now: roll this transaction back")]
    Fenced(Arc<str>),
    /// The name cannot be one.
    #[error("`{0}` cannot be the name of a lease: it has 1 to 200 bytes, none of them 0")]
    Name(String),
    /// The length cannot be one.
    #[error("a lease of {0:?} is not possible: it lasts {from:?} to {to:?}", from = BOUNDS.start(), to = BOUNDS.end())]
    Length(Duration),
    /// The database did not answer, or refused.
    #[error("the database does not say whose the lease `{name}` is: {source}")]
    Unreachable {
        /// Its name.
        name: Arc<str>,
        /// What it said.
        source: sqlx::Error,
    },
    /// No thread for the renewals.
    #[error("no thread could be started that renews the lease: {0}")]
    Thread(std::io::Error),
}
