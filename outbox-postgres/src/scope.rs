//! To which outbox a `publish` belongs, and in which context it happens.
//!
//! Around each handler, and inside `outbox.scope(..)`, a task-local says so. A task that is spawned there does not inherit it: take
//! [`context`] along, and wrap the task's future in `outbox.scope_with(..)`.

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
    inherited: Inherited,
    /// How many in-transaction subscribers run within each other.
    depth: u8,
    /// Whether anything was, where a commit asks whether there is somebody to wake.
    published: Option<Arc<AtomicBool>>,
}

/// What is published in a scope begins with this.
#[derive(Debug, Clone, Default)]
enum Inherited {
    #[default]
    Nothing,
    /// The message whose handler runs.
    Cause(Arc<Envelope>),
    /// What the application said.
    Said(Arc<Metadata>),
}

impl Inherited {
    fn metadata(&self) -> Metadata {
        match self {
            Self::Nothing => Metadata::default(),
            Self::Cause(envelope) => envelope.follow_up(),
            Self::Said(context) => Metadata::clone(context),
        }
    }
}

impl Scope {
    /// Of an application's own task, in the context of the scope around it.
    pub(crate) fn new(outbox: Outbox) -> Self {
        let inherited = SCOPE.try_with(|scope| scope.inherited.clone()).unwrap_or_default();
        Self { outbox, inherited, depth: depth(), published: None }
    }

    /// The same, with what is said here, and of the context around it what is not.
    pub(crate) fn with(outbox: Outbox, said: Metadata) -> Self {
        Self { inherited: Inherited::Said(Arc::new(said.or(context()))), ..Self::new(outbox) }
    }

    pub(crate) fn of_handler(outbox: Outbox, cause: Arc<Envelope>) -> Self {
        Self { outbox, inherited: Inherited::Cause(cause), depth: 0, published: None }
    }

    /// Of a handler whose transaction is committed for it.
    pub(crate) fn of_transaction(outbox: Outbox, cause: Arc<Envelope>) -> Self {
        Self { published: Some(Arc::default()), ..Self::of_handler(outbox, cause) }
    }

    /// Of a handler that takes a batch: no message of it is the cause of what it publishes, unless it says so.
    pub(crate) fn of_batch(outbox: Outbox) -> Self {
        Self { outbox, inherited: Inherited::Nothing, depth: 0, published: None }
    }

    /// Of an in-transaction subscriber.
    pub(crate) fn in_transaction(outbox: Outbox, cause: Arc<Envelope>) -> Self {
        Self { depth: depth() + 1, ..Self::of_handler(outbox, cause) }
    }

    pub(crate) fn has_published(&self) -> bool {
        self.published.as_ref().is_some_and(|published| published.load(Ordering::Relaxed))
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        SCOPE.scope(self.clone(), future)
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

/// The context that a message published here and now begins with: what the scope says, or what follows from the message whose handler
/// runs.
///
/// It is the task's, and a task that is spawned begins without one: take it along.
///
/// ```no_run
/// # async fn handler(outbox: outbox_postgres::Outbox) {
/// let context = outbox_postgres::context();
/// tokio::spawn(async move {
///     outbox.scope_with(context, async { /* publish here */ }).await;
/// });
/// # }
/// ```
#[must_use]
pub fn context() -> Metadata {
    SCOPE.try_with(|scope| scope.inherited.metadata()).unwrap_or_default()
}

/// The scope of here, without its transaction, for work that goes on behind it.
pub(crate) fn carried() -> Option<Scope> {
    let here = SCOPE.try_with(Scope::clone).ok()?;
    Some(Scope { depth: 0, published: None, ..here })
}

/// Runs `future` in the scope that was carried along, if there was one.
pub(crate) async fn carry<F: Future>(scope: Option<Scope>, future: F) -> F::Output {
    match scope {
        Some(scope) => scope.run(future).await,
        None => future.await,
    }
}

/// Something was published in the current scope, if there is one.
pub(crate) fn note_published() {
    let _ = SCOPE.try_with(|scope| scope.published.as_ref().map(|published| published.store(true, Ordering::Relaxed)));
}
