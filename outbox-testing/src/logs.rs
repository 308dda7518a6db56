//! What is said in the log on this thread, for tests of it.

use std::fmt::{Debug, Formatter, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

use crate::eventually;

/// Listens to the log of this thread for as long as it lives, and keeps the lines.
///
/// An event is `LEVEL message field=value ..`, as in `WARN the job failed, and is tried again handler="inventory.take" attempt=1`: levels in
/// capitals, texts of fields in quotes. A span is `span name field=value ..`, and what it is given later is `span field=value ..`.
///
/// Who listens begins before what is to be said. In a `#[tokio::test]` this thread is where everything runs that the test has started,
/// workers too; with `flavor = "multi_thread"` tasks run on others, and their lines are missing.
///
/// ```
/// # use outbox_core as _;
/// let logs = outbox_testing::Logs::of("my_app");
/// tracing::warn!(target: "my_app::mail", to = "ann", "no mailer");
/// assert_eq!(logs.lines(), [r#"WARN no mailer to="ann""#]);
/// ```
pub struct Logs {
    lines: Lines,
    _listening: DefaultGuard,
    /// While there is one listener only, `tracing` asks no other than that of the thread which comes to a line first, and what it answers
    /// stands for all threads: on one that does not listen, that nobody does.
    _beside: Dispatch,
}

impl Logs {
    /// What the outbox's crates warn of: their events of level warn and error.
    #[must_use = "it listens for as long as it lives"]
    pub fn warnings() -> Self {
        Self::listen(Chosen { targets: "outbox", level: Level::WARN, spans: false }, |_| ())
    }

    /// Events of every level whose target begins with this: `outbox` for all crates of the outbox, `my_app::mail` for a module.
    #[must_use = "it listens for as long as it lives"]
    pub fn of(targets: &'static str) -> Self {
        Self::heard_by(targets, |_| ())
    }

    /// Events and spans of every level and of every crate, such as for a test that a secret is in none.
    #[must_use = "it listens for as long as it lives"]
    pub fn everything() -> Self {
        Self::listen(Chosen { targets: "", level: Level::TRACE, spans: true }, |_| ())
    }

    /// As [`Logs::of`], and each line is told to this function before it is kept, where it is said: a log that panics shows what a panic at that
    /// line comes to.
    #[must_use = "it listens for as long as it lives"]
    pub fn heard_by(targets: &'static str, heard: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::listen(Chosen { targets, level: Level::TRACE, spans: false }, heard)
    }

    fn listen(chosen: Chosen, heard: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let lines = Lines::default();
        let listener = Listener { chosen, heard: Arc::new(heard), lines: lines.clone() };
        let beside = Dispatch::new(listener.clone());
        Self { lines, _listening: tracing::subscriber::set_default(listener), _beside: beside }
    }

    /// The lines so far, except those that were taken.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    /// The lines since it was asked last.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock())
    }

    /// Waits for a line that holds all of these words, and takes it and what was said before it: the next call is answered by what was said since.
    ///
    /// # Panics
    /// When there is none within [`DEADLINE`](crate::DEADLINE).
    pub async fn until(&self, words: &[&str]) -> String {
        eventually(&format!("the log has a line with {words:?}"), async || self.lines.take_through(words)).await
    }
}

impl Debug for Logs {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lines.lock().iter()).finish()
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_through(&self, words: &[&str]) -> Option<String> {
        let mut lines = self.lock();
        let at = lines.iter().position(|line| words.iter().all(|word| line.contains(word)))?;
        lines.drain(..=at).next_back()
    }
}

/// Which lines are kept.
#[derive(Clone, Copy)]
struct Chosen {
    targets: &'static str,
    level: Level,
    spans: bool,
}

#[derive(Clone)]
struct Listener {
    chosen: Chosen,
    heard: Arc<dyn Fn(&str) + Send + Sync>,
    lines: Lines,
}

impl Listener {
    fn keep(&self, begin: String, record: impl FnOnce(&mut Line)) {
        let mut line = Line { text: begin, fields: String::new() };
        record(&mut line);
        let line = line.text + &line.fields;
        (self.heard)(&line);
        self.lines.lock().push(line);
    }
}

struct Line {
    text: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.text, " {value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let Chosen { targets, level, spans } = self.chosen;
        (metadata.is_event() || spans) && *metadata.level() <= level && metadata.target().starts_with(targets)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.keep(format!("span {}", span.metadata().name()), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.keep("span".to_owned(), |line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.keep(event.metadata().level().to_string(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen is kept, in order, and nothing else; what was taken does not come again.
    #[test]
    fn what_was_chosen_is_kept_in_order() {
        let logs = Logs::of("shop");
        tracing::info!(target: "shop::till", units = 3, who = "ann", "taken");
        tracing::error!(target: "elsewhere", "not listened to");
        let _span = tracing::info_span!(target: "shop", "no line").entered();
        tracing::trace!(target: "shop", "counted");
        assert_eq!(logs.lines(), [r#"INFO taken units=3 who="ann""#, "TRACE counted"]);
        assert_eq!(logs.take().len(), 2);
        assert_eq!(logs.take(), [""; 0]);
    }

    /// Of the outbox, what is a warning; of everything, spans too, and what they are given later.
    #[test]
    fn warnings_are_fewer_and_everything_has_spans() {
        let warnings = Logs::warnings();
        tracing::info!(target: "outbox", "well");
        tracing::warn!(target: "outbox_postgres::service", "late");
        assert_eq!(warnings.lines(), ["WARN late"]);
        let everything = Logs::everything();
        let span = tracing::debug_span!(target: "shop", "sell", units = 1, who = tracing::field::Empty);
        span.record("who", "ann");
        tracing::error!(target: "outbox", "heard by the one that listens last");
        let said = ["span sell units=1", r#"span who="ann""#, "ERROR heard by the one that listens last"];
        assert_eq!(everything.lines(), said);
        drop(everything);
        tracing::warn!(target: "outbox", "again");
        assert_eq!(warnings.lines(), ["WARN late", "WARN again"]);
    }

    /// A line that is waited for is taken with those before it, and not with those behind it.
    #[tokio::test]
    async fn a_line_is_waited_for() {
        let logs = Logs::of("shop");
        for line in ["one", "two", "three"] {
            tracing::info!(target: "shop", "{line} of three");
        }
        assert_eq!(logs.until(&["of three", "two"]).await, "INFO two of three");
        assert_eq!(logs.lines(), ["INFO three of three"]);
    }

    /// A log that panics does so where the line is said, and hears the next one.
    #[test]
    fn a_log_can_panic() {
        let logs = Logs::heard_by("shop", |line| assert!(!line.contains("bad"), "the log panics"));
        std::panic::catch_unwind(|| tracing::info!(target: "shop", "bad")).unwrap_err();
        tracing::info!(target: "shop", "good");
        assert_eq!(logs.lines(), ["INFO good"]);
    }
}
