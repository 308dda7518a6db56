//! What is said in the log, on this thread.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Lines, `message field=value ..`.
#[derive(Clone, Default)]
pub struct Logs {
    lines: Arc<Mutex<Vec<String>>>,
    everything: bool,
    /// While there is one listener only, `tracing` asks no other than that of the thread which comes to a line first, and what it answers
    /// stands for all threads: on one that does not listen, that nobody does.
    beside: Option<Dispatch>,
}

impl Logs {
    /// Writes down what the engine says on this thread, of level warn and above, for as long as the guard lives.
    pub fn of_this_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        Self::default().listen()
    }

    /// Writes down whatever anybody says on this thread, of every level, fields of spans too.
    pub fn of_everything() -> (Self, tracing::subscriber::DefaultGuard) {
        Self { everything: true, ..Self::default() }.listen()
    }

    fn listen(mut self) -> (Self, tracing::subscriber::DefaultGuard) {
        self.beside = Some(Dispatch::new(self.clone()));
        let guard = tracing::subscriber::set_default(self.clone());
        (self, guard)
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn push(&self, record: impl FnOnce(&mut Line)) {
        let mut line = Line { message: String::new(), fields: String::new() };
        record(&mut line);
        self.lines.lock().unwrap().push(format!("{}{}", line.message, line.fields));
    }
}

struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}

impl Subscriber for Logs {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.everything || (metadata.level() <= &Level::WARN && metadata.target().starts_with("outbox"))
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.push(|line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.push(|line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.push(|line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
