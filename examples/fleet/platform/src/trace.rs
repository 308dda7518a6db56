//! Traces that cross processes, by [W3C trace context](https://www.w3.org/TR/trace-context/): a request says its trace, each message carries
//! it on, and each process writes its spans of it to a file of its own.
//!
//! A fleet would have OpenTelemetry's layer in the place of [`Spans`]. What matters is the same: the framework gives the span of each
//! execution, relay and ingest the `traceparent` that came with the message, and [`here`] is what a message is given on its way.

mod layer;
mod parent;
mod record;

use std::fs::File;
use std::path::Path;

use anyhow::Context as _;
use tracing::Span;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry};

use self::layer::Seen;
pub use self::layer::Spans;
pub use self::parent::Parent;
pub use self::record::SpanRecord;

/// Complaints to the standard error, as `RUST_LOG` says, and the spans of traced requests to this file.
///
/// # Errors
/// When the file cannot be opened.
pub fn init(service: &str, spans: Option<&Path>) -> anyhow::Result<()> {
    // What becomes of a connection is told by relay and ingest. (lapin would log what comes back as unroutable with its payload.)
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error,lapin=off"));
    let told = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    let open = |path: &Path| {
        let file = File::options().create(true).append(true).open(path);
        file.with_context(|| format!("{} cannot be written", path.display()))
    };
    let file = spans.map(open).transpose()?;
    let layer = file.map(|file| Spans::new(service, file).with_filter(LevelFilter::INFO));
    tracing_subscriber::registry().with(told.with_filter(filter)).with(layer).init();
    Ok(())
}

/// The `traceparent` of the span of here, when it belongs to a trace: what goes out from here carries it.
#[must_use]
pub fn here() -> Option<String> {
    let parent = Span::current().with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        let extensions = span.extensions();
        extensions.get::<Seen>()?.parent()
    });
    parent.flatten().map(|parent| parent.to_string())
}
