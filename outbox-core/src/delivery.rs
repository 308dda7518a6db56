//! One execution of one handler, as the runner hands it over.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::batch::BatchOutcomes;
use crate::envelope::Envelope;
use crate::id::EventId;
use crate::idempotency::IdempotencyKey;
use crate::state::TypeMap;

/// One message of a delivery and the counters of its job.
#[derive(Debug, Clone)]
pub struct Item {
    /// The message, which other jobs of the same event may share.
    pub envelope: Arc<Envelope>,
    /// Which execution this is, from 1.
    pub attempt: u32,
    /// What its effect is known by: the event's id, or the job's for a command.
    pub effect: EventId,
    /// The handler's original stored name.
    pub handler: &'static str,
}

impl Item {
    /// Same at every execution. Made when it is asked for, which most handlers do not.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        IdempotencyKey::of(self.effect, self.handler)
    }
}

/// One execution of one handler. `'a` is the life of that execution.
pub struct Delivery<'a> {
    items: &'a [Item],
    state: &'a TypeMap,
    runtime: &'a TypeMap,
    /// Of each item, where the handler takes a batch.
    outcomes: Option<&'a BatchOutcomes>,
    /// The open transaction's connection, its type erased, so that this crate needs no driver.
    connection: Option<&'a mut (dyn Any + Send)>,
}

impl<'a> Delivery<'a> {
    /// A delivery of `items`, of which there is at least one.
    ///
    /// # Panics
    /// When `items` is empty.
    #[must_use]
    pub fn new(items: &'a [Item], state: &'a TypeMap, runtime: &'a TypeMap) -> Self {
        assert!(!items.is_empty(), "a delivery holds at least one message");
        Self { items, state, runtime, outcomes: None, connection: None }
    }

    /// The same delivery to a handler that takes a batch: what it says of each item is said to `outcomes`.
    #[must_use]
    pub fn with_outcomes(mut self, outcomes: &'a BatchOutcomes) -> Self {
        self.outcomes = Some(outcomes);
        self
    }

    /// The same delivery with the connection of its open transaction.
    #[must_use]
    pub fn with_connection<C: Any + Send>(mut self, connection: &'a mut C) -> Self {
        self.connection = Some(connection);
        self
    }

    /// The message; the first one of a batch.
    #[must_use]
    pub fn item(&self) -> &'a Item {
        &self.items[0]
    }

    /// All messages.
    #[must_use]
    pub fn items(&self) -> &'a [Item] {
        self.items
    }

    /// Where the outcome of each item is said, when the handler takes a batch.
    #[must_use]
    pub fn outcomes(&self) -> Option<&'a BatchOutcomes> {
        self.outcomes
    }

    /// The application's state.
    #[must_use]
    pub fn state(&self) -> &'a TypeMap {
        self.state
    }

    /// What the runtime lends, as the cancellation of this execution.
    #[must_use]
    pub fn runtime(&self) -> &'a TypeMap {
        self.runtime
    }

    /// Hands out the transaction's connection for the whole execution; a second call gets `None`.
    pub fn take_connection<C: Any>(&mut self) -> Option<&'a mut C> {
        self.connection.take()?.downcast_mut()
    }
}

impl fmt::Debug for Delivery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("items", &self.items)
            .field("transaction", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}
