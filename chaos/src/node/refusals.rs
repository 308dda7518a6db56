//! Notes each write that the engine refused, from the engine's own log.

use std::fmt::Debug;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::ledger::{Entry, Ledger};

/// The engine's warnings carry a field of this name, which says what was refused.
const FIELD: &str = "refused";

/// Listens to the log.
#[derive(Debug)]
pub(super) struct Refusals(Ledger);

impl Refusals {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self(ledger)
    }
}

impl<S: Subscriber> Layer<S> for Refusals {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut found = Found(None);
        event.record(&mut found);
        if let Some(write) = found.0 {
            self.0.say(Entry::Refused { write });
        }
    }
}

struct Found(Option<String>);

impl Visit for Found {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == FIELD {
            self.0 = Some(value.to_owned());
        }
    }
}
