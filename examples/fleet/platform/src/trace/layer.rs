//! Writes down the spans that belong to a trace.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::parent::Parent;
use super::record::SpanRecord;

/// The field by which a span says that it goes on with a trace from elsewhere.
const TRACEPARENT: &str = "traceparent";

/// A layer that appends each span of a traced request to a file. A span belongs to the trace that its field `traceparent` names, else to that of
/// the span around it; one that belongs to none is not written.
#[derive(Debug)]
pub struct Spans {
    service: String,
    file: Mutex<File>,
}

impl Spans {
    /// Writes to this file. Each line is written at once and whole, so that a process that is killed leaves what it did.
    #[must_use]
    pub fn new(service: &str, file: File) -> Self {
        Self { service: service.to_owned(), file: Mutex::new(file) }
    }

    fn write(&self, record: &SpanRecord) {
        let Ok(mut line) = serde_json::to_vec(record) else { return };
        line.push(b'\n');
        // A span that cannot be written is no reason to fail what it is about.
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    }
}

/// What is known of a span while it is open.
#[derive(Debug)]
pub(super) struct Seen {
    /// Itself, and the one above it, when it belongs to a trace.
    place: Option<(Parent, Parent)>,
    fields: Fields,
    began: (SystemTime, Instant),
}

impl Seen {
    /// What goes out from here has this above it.
    pub(super) fn parent(&self) -> Option<Parent> {
        self.place.map(|(itself, _)| itself)
    }

    fn below(&mut self, above: Option<Parent>) {
        if let Some(above) = above {
            self.place = Some((above.another(), above));
        }
    }
}

#[derive(Debug, Default)]
struct Fields(BTreeMap<String, String>);

impl Fields {
    fn take_parent(&mut self) -> Option<Parent> {
        self.0.remove(TRACEPARENT)?.parse().ok()
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let around = span.parent().and_then(|around| around.extensions().get::<Seen>()?.parent());
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let from_elsewhere = fields.take_parent();
        let mut seen = Seen { place: None, fields, began: (SystemTime::now(), Instant::now()) };
        seen.below(from_elsewhere.or(around));
        span.extensions_mut().insert(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(seen) = extensions.get_mut::<Seen>() else { return };
        values.record(&mut seen.fields);
        let from_elsewhere = seen.fields.take_parent();
        seen.below(from_elsewhere);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(seen) = span.extensions_mut().remove::<Seen>() else { return };
        let Some((itself, above)) = seen.place else { return };
        let (moment, instant) = seen.began;
        let began = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.write(&SpanRecord {
            trace: format!("{:032x}", itself.trace),
            span: format!("{:016x}", itself.span),
            parent: format!("{:016x}", above.span),
            service: self.service.clone(),
            name: span.name().to_owned(),
            fields: seen.fields.0,
            began: u64::try_from(began.as_micros()).unwrap_or(u64::MAX),
            took: u64::try_from(instant.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
    }
}

#[cfg(test)]
mod tests {
    use tracing::Instrument as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const ABOVE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn written(doing: impl Future<Output = ()>) -> Vec<SpanRecord> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans");
        let spans = Spans::new("policy", File::create(&path).unwrap());
        let _listening = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(doing);
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A span that names its trace is below what it names, one inside of it below it, and one of no trace is nobody's.
    #[test]
    fn spans_of_a_trace_are_written_with_their_place() {
        let records = written(async {
            async {
                async { tokio::task::yield_now().await }.instrument(tracing::info_span!("inner", number = 7)).await;
            }
            .instrument(tracing::info_span!("outer", traceparent = ABOVE))
            .await;
            async {}.instrument(tracing::info_span!("of no trace")).await;
        });
        let [inner, outer] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!((inner.name.as_str(), outer.name.as_str()), ("inner", "outer"));
        assert_eq!((outer.trace.as_str(), outer.parent.as_str()), (&ABOVE[3..35], &ABOVE[36..52]));
        assert_eq!((&inner.trace, &inner.parent), (&outer.trace, &outer.span));
        assert_eq!((inner.fields["number"].as_str(), outer.fields.len()), ("7", 0));
        assert_eq!(inner.service, "policy");
    }

    /// As the span of an execution is, whose trace is read from the row.
    #[test]
    fn a_trace_that_is_said_later_counts_too() {
        let records = written(async {
            let span = tracing::info_span!("execution", traceparent = tracing::field::Empty);
            span.record(TRACEPARENT, ABOVE);
            let told = async { crate::trace::here() }.instrument(span).await;
            let here: Parent = told.unwrap().parse().unwrap();
            assert_eq!(format!("{:032x}", here.trace), ABOVE[3..35]);
        });
        assert_eq!((records.len(), records[0].parent.as_str()), (1, &ABOVE[36..52]));
        assert_eq!(crate::trace::here(), None);
    }
}
