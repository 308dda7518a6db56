//! What is said in the log on this thread, for tests of it.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Lines, `LEVEL message="text" field=value ..`, of this workspace's crates.
#[derive(Debug, Clone, Default)]
pub struct Said {
    lines: Arc<Mutex<Vec<String>>>,
    /// While there is one listener only, `tracing` asks no other than that of the thread which comes to a line first, and what it answers
    /// stands for all threads: on one that does not listen, that nobody does.
    beside: Option<Dispatch>,
}

impl Said {
    /// Writes down what is said on this thread for as long as the guard lives.
    #[must_use]
    pub fn of_this_thread() -> (Self, DefaultGuard) {
        let mut said = Self::default();
        said.beside = Some(Dispatch::new(said.clone()));
        let guard = tracing::subscriber::set_default(said.clone());
        (said, guard)
    }

    /// The lines since it was asked last.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines())
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Said {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("outbox")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.lines().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
