//! One execution of one handler, as the runner hands it over.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

use crate::envelope::Envelope;
use crate::extract::IdempotencyKey;

/// Values by their type: the application's state, and what the runtime lends.
#[derive(Default)]
pub struct TypeMap(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl TypeMap {
    /// Puts a value in; a second one of the same type takes the place of the first.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Whether a value of this type is there.
    #[must_use]
    pub fn contains(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }
}

impl fmt::Debug for TypeMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeMap({} values)", self.0.len())
    }
}

/// State that nobody supplied. `build()` refuses to start without it, so a running handler meets this only when it was
/// called by other means.
#[derive(Debug, thiserror::Error)]
#[error("state `{0}` was not given: say `Outbox::builder(pool).state(..)`")]
pub struct MissingState(pub &'static str);

/// One message of a delivery and the counters of its job.
#[derive(Debug, Clone)]
pub struct Item {
    /// The message.
    pub envelope: Envelope,
    /// Which execution this is, from 1.
    pub attempt: u32,
    /// Same at every execution.
    pub key: IdempotencyKey,
}

/// One execution of one handler. `'a` is the life of that execution.
pub struct Delivery<'a> {
    items: &'a [Item],
    state: &'a TypeMap,
    runtime: &'a TypeMap,
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
        Self { items, state, runtime, connection: None }
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
