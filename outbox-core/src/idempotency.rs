//! Running a handler twice: what makes it safe, and the key that it hands on.

use std::fmt;

/// What running a handler twice relies on. Read from the parameters' types while compiling, so that aliases and users'
/// own extractors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: the handler must say `idempotent = ".."`.
    None,
    /// The key, handed to whoever owns the effect.
    Key,
    /// The transaction: effect and completion commit together.
    Transaction,
}

/// A text that is the same at every execution of one handler for one event, over attempts, replay and renames.
///
/// Hand it to whoever owns the effect (a payment provider's idempotency header, a unique column). It is the event's id
/// (the job's for a command) and the handler's original stored name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A key of this text; in unit tests any text will do.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key of an event (or a job) at a handler, by the handler's original name.
    #[must_use]
    pub fn of(id: impl fmt::Display, original_handler: &str) -> Self {
        Self(format!("{id}:{original_handler}"))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
