//! One stream, as the feed sees it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use outbox_core::{Envelope, name};

use super::position::LivePosition;
use super::queue::{Missed, Queue};

/// What a stream wants, as far as the feed decides it: by comparing texts, and by nothing of the application's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wants {
    pub(crate) patterns: Vec<String>,
    pub(crate) tenant: Option<String>,
}

impl Wants {
    pub(crate) fn type_of(&self, event_type: &str) -> bool {
        self.patterns.iter().any(|pattern| name::matches(pattern, event_type))
    }

    pub(crate) fn event(&self, event: &Envelope) -> bool {
        self.type_of(&event.name) && (self.tenant.is_none() || self.tenant == event.metadata.tenant)
    }
}

/// One stream, as the feed sees it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) wants: Wants,
    queue: Mutex<Queue>,
    /// What it is told when the feed stands.
    pub(crate) first: Missed,
}

impl Seat {
    pub(crate) fn new(wants: Wants, queue: Queue, first: Missed) -> Self {
        Self { wants, queue: Mutex::new(queue), first }
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From where a stream goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From {
    Now,
    Position(LivePosition),
    /// It was given something that is no position.
    Nowhere,
}
