//! An error that also decides: retry after, snooze, discard, quarantine, outcome unknown.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Any error.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// What a handler returns that mixes errors: `?` works on every std error, on [`Failure`], on `anyhow::Error`, on text.
pub type HandlerResult = Result<(), BoxError>;

/// What is to become of a job whose handler returned an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Again, after the handler's backoff.
    Retry,
    /// Again, after this long; it counts as an attempt.
    RetryAfter(Duration),
    /// Again, after this long; it charges no attempt.
    Snooze(Duration),
    /// Ends as succeeded, reason discarded.
    Discard,
    /// Ends as failed, reason quarantined: no retry will help.
    Quarantine,
    /// Parked, as failed with reason unknown: nobody knows whether the effect took place, so that its owner is asked first.
    Unknown,
}

/// An ordinary error that carries a [`Verdict`].
///
/// The verdict survives `?`, `anyhow::Context`, `#[source]` and `#[error(transparent)]`; where several are nested, the
/// outermost decides.
///
/// ```
/// # use outbox_core::{Failure, HandlerResult};
/// # use std::time::Duration;
/// fn charge(status: u16) -> HandlerResult {
///     match status {
///         200 => Ok(()),
///         429 => Err(Failure::retry_after(Duration::from_secs(30), "the provider asks to slow down"))?,
///         410 => Err(Failure::discard("the card was closed"))?,
///         _ => Err("the provider refused")?,
///     }
/// }
/// # assert!(charge(410).is_err());
/// ```
// Its `source()` is the mark, and the mark's source the cause's: wrappers that hide their outermost error (anyhow's box,
// thiserror's `transparent`) still show the mark when the chain is walked.
#[derive(Debug)]
pub struct Failure(Mark);

#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) verdict: Verdict,
    cause: BoxError,
}

impl Failure {
    fn new(verdict: Verdict, cause: impl Into<BoxError>) -> Self {
        Self(Mark { verdict, cause: cause.into() })
    }

    /// Again, after the handler's backoff: what any other error means too. Outermost, it overrides a verdict within.
    #[must_use]
    pub fn retry(cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Retry, cause)
    }

    /// Again after `delay`, as an attempt that counts.
    #[must_use]
    pub fn retry_after(delay: Duration, cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::RetryAfter(delay), cause)
    }

    /// Not now: again after `delay`, charging no attempt.
    #[must_use]
    pub fn snooze(delay: Duration, cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Snooze(delay), cause)
    }

    /// Nothing to do any more: the job ends as succeeded, reason discarded, and keeps the cause.
    #[must_use]
    pub fn discard(cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Discard, cause)
    }

    /// No retry will help: the job ends as failed, reason quarantined, for a person to look at.
    #[must_use]
    pub fn quarantine(cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Quarantine, cause)
    }

    /// Whether the effect took place is not known (a payment whose answer never came), and to try again could have it twice: the job is parked,
    /// as failed with reason unknown, until the owner of the effect has answered. See [`unknown = park`](../outbox/attr.subscriber.html) for
    /// the cases in which no handler is there any more to say so.
    #[must_use]
    pub fn outcome_unknown(cause: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Unknown, cause)
    }

    /// What it decides.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.0.verdict
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cause.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the handler decided {:?}", self.verdict)
    }
}

impl Error for Mark {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // A cause that decides too has its own mark in front of its chain; it shows itself as its cause, which is
        // already shown by the `Failure` around this mark.
        self.cause.source()
    }
}
