//! The application's state: values by their type, and which of them a handler needs.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

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

/// A type of application state that a handler needs.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    /// The type.
    pub id: TypeId,
    /// Its name, for people.
    pub name: fn() -> &'static str,
}

/// All that a handler needs.
pub type Requirements = Vec<Requirement>;
