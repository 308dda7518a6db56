//! The handle that an application holds, and gives its workers as state.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use outbox::{BoxError, Envelope, Schema};
use sqlx::PgPool;

use crate::builder::WebhooksBuilder;
use crate::connect::Connector;
use crate::route::{Outgoing, Route, patterns};
use crate::schema::Statements;
use crate::target::Rules;
use crate::turns::Turns;

/// Outgoing webhooks: endpoints, deliveries, and the way to them.
///
/// Give a clone to the outbox as state, and name this crate in [`outbox::modules!`]: then each event goes to the endpoints that want
/// it. What changes endpoints and reads the log is here, on a connection of yours, so that it commits with what else you write.
///
/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Webhooks {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) pool: PgPool,
    pub(crate) schema: Schema,
    pub(crate) statements: Statements,
    pub(crate) excluded: BTreeSet<String>,
    pub(crate) route: Box<Route>,
    pub(crate) rules: Rules,
    pub(crate) connector: Connector,
    pub(crate) turns: Turns,
    pub(crate) timeout: Duration,
    pub(crate) answer_limit: usize,
    pub(crate) patience: Patience,
    pub(crate) keep: Duration,
}

/// How long an endpoint may fail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) failing_for: Duration,
    pub(crate) dead_deliveries: u32,
}

impl Webhooks {
    /// Begins to describe webhooks on the application's pool, which deliveries take a connection from for a moment before and behind
    /// each call, and never during it.
    pub fn builder(pool: PgPool) -> WebhooksBuilder {
        WebhooksBuilder::new(pool)
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    /// The schema that its tables live in.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.inner.statements
    }

    pub(crate) fn excludes(&self, event: &str) -> bool {
        !self.inner.excluded.is_empty() && patterns(event).iter().any(|pattern| self.inner.excluded.contains(pattern))
    }

    pub(crate) fn route(&self, event: &Envelope) -> Result<Option<Outgoing>, BoxError> {
        (self.inner.route)(event)
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("schema", &self.schema().as_str()).finish_non_exhaustive()
    }
}
