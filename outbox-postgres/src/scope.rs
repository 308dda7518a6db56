//! To which outbox a `publish` belongs, and in which context it happens.
//!
//! Around each handler, and inside `outbox.scope(..)`, a task-local says so. A task that a handler spawns does not inherit
//! it: pass the envelope, or wrap the task's future in `outbox.scope(..)`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use outbox_core::{Envelope, Metadata};

use crate::error::PublishError;
use crate::outbox::{Inner, Outbox};

tokio::task_local! {
    static SCOPE: Scope;
}

#[derive(Debug, Clone)]
pub(crate) struct Scope {
    outbox: Outbox,
    /// The message whose handler runs: what is published in here follows it.
    cause: Option<Arc<Envelope>>,
    /// How many in-transaction subscribers run within each other.
    depth: u8,
    /// Whether anything was, so that a commit knows whether there is somebody to wake.
    published: Arc<AtomicBool>,
}

impl Scope {
    /// Of an application's own task.
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, cause: None, depth: depth(), published: Arc::default() }
    }

    pub(crate) fn of_handler(outbox: Outbox, cause: Arc<Envelope>) -> Self {
        Self { outbox, cause: Some(cause), depth: 0, published: Arc::default() }
    }

    /// Of an in-transaction subscriber.
    pub(crate) fn in_transaction(outbox: Outbox, cause: Arc<Envelope>) -> Self {
        Self { depth: depth() + 1, ..Self::of_handler(outbox, cause) }
    }

    pub(crate) fn has_published(&self) -> bool {
        self.published.load(Ordering::Relaxed)
    }

    pub(crate) async fn run<F: Future>(&self, future: F) -> F::Output {
        SCOPE.scope(self.clone(), future).await
    }
}

/// Every outbox of this process that is still in use.
static BUILT: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

pub(crate) fn register(outbox: &Arc<Inner>) {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built.retain(|one| one.strong_count() > 0);
    built.push(Arc::downgrade(outbox));
}

/// The outbox that a `publish` of `name` belongs to.
pub(crate) fn current(name: &'static str) -> Result<Outbox, PublishError> {
    if let Ok(outbox) = SCOPE.try_with(|scope| scope.outbox.clone()) {
        return Ok(outbox);
    }
    let built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut alive = built.iter().filter_map(Weak::upgrade);
    match (alive.next(), alive.count()) {
        (Some(inner), 0) => Ok(Outbox::from_inner(inner)),
        (Some(_), more) => Err(PublishError::SeveralOutboxes { name, count: more + 1 }),
        (None, _) => Err(PublishError::NoOutbox { name }),
    }
}

/// How many in-transaction subscribers run within each other here.
pub(crate) fn depth() -> u8 {
    SCOPE.try_with(|scope| scope.depth).unwrap_or_default()
}

/// What a message published now inherits.
pub(crate) fn metadata() -> Metadata {
    let cause = SCOPE.try_with(|scope| scope.cause.clone()).ok().flatten();
    cause.map(|envelope| envelope.follow_up()).unwrap_or_default()
}

/// Something was published in the current scope, if there is one.
pub(crate) fn note_published() {
    let _ = SCOPE.try_with(|scope| scope.published.store(true, Ordering::Relaxed));
}
