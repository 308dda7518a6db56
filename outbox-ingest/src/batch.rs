//! One batch: stored, then acknowledged; or held, then given back.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use outbox::Backoff;
use outbox::ingest::{Arrival, IngestError, Ingestion, Taken, Unfit};
use tracing::{Span, field};

use crate::delivery::{Acknowledgement, Delivery, Message};
use crate::ingest::{Ingest, Stop};
use crate::kept::Kept;
use crate::read::read;
use crate::source::Source;

/// Between two tries while the database is away.
const PAUSES: Backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(5));
/// How long the broker may take to hear what became of a batch.
const TELL_LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn pause(failures: u32) -> Duration {
    PAUSES.delay(failures, rand::random())
}

/// A message in hand, read.
struct InHand {
    message: Message,
    headers: String,
    digest: [u8; 32],
    read: Result<outbox::Envelope, Unfit>,
    span: Span,
}

impl InHand {
    fn of(source: &str, message: Message) -> Self {
        let kept = Kept::of(&message);
        let read = read(&kept, &message.body);
        let digest = kept.digest(&message.body);
        Self { span: span(source, &read), headers: kept.to_json(), digest, read, message }
    }

    fn arrival(&self) -> Arrival<'_> {
        Arrival { digest: self.digest, headers: &self.headers, body: &self.message.body, read: self.read.clone() }
    }
}

/// What is logged of a message stands in this span, from when it came until its commit: which event, and what ties it to the request that
/// set it in motion, where it was published. Its jobs have the same, because it is stored with the event.
fn span(source: &str, read: &Result<outbox::Envelope, Unfit>) -> Span {
    let span = tracing::info_span!(
        "ingest",
        source,
        message = field::Empty,
        id = field::Empty,
        correlation = field::Empty,
        causation = field::Empty,
        traceparent = field::Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let (name, id) = match read {
        Ok(event) => (Some(event.name.as_str()), Some(event.id)),
        Err(unfit) => (unfit.event_type.as_deref(), unfit.event_id),
    };
    if let Some(name) = name {
        span.record("message", name);
    }
    if let Some(id) = id {
        span.record("id", field::display(id));
    }
    if let Ok(event) = read {
        span.record("correlation", event.correlation());
        if let Some(causation) = &event.metadata.causation {
            span.record("causation", field::display(causation));
        }
        if let Some(traceparent) = &event.metadata.traceparent {
            span.record("traceparent", traceparent);
        }
    }
    span
}

impl<S: Source> Ingest<S> {
    /// Stores a batch and acknowledges it; or gives it back, and answers `false`.
    pub(crate) async fn take(&self, ingestion: &mut Ingestion, deliveries: Vec<Delivery>, stop: &mut Stop<'_>) -> bool {
        if deliveries.is_empty() {
            return true;
        }
        let began = Instant::now();
        let (mut in_hand, mut acknowledgements) = (Vec::new(), Vec::new());
        for Delivery { message, acknowledgement } in deliveries {
            in_hand.push(InHand::of(self.0.source.name(), message));
            acknowledgements.push(acknowledgement);
        }
        let _held = Held::of(self, in_hand.len());
        let Some(taken) = self.store(ingestion, &in_hand, stop).await else {
            self.give_back(acknowledgements).await;
            return false;
        };
        self.stored(&in_hand, &taken, began);
        self.acknowledge(acknowledgements).await;
        true
    }

    /// Tries until the batch is stored, or has been held for long enough, or the ingest is to stop.
    async fn store(&self, ingestion: &mut Ingestion, in_hand: &[InHand], stop: &mut Stop<'_>) -> Option<Vec<Taken>> {
        let held_until = Instant::now() + self.0.settings.hold;
        let arrivals: Vec<_> = in_hand.iter().map(InHand::arrival).collect();
        let mut failures = 0;
        loop {
            let stopped = async {
                stop.said().await;
                tokio::time::sleep(self.0.settings.shutdown).await;
            };
            let error = tokio::select! {
                biased;
                stored = ingestion.store(&arrivals) => match stored {
                    Ok(taken) => return Some(taken),
                    Err(error) => error,
                },
                () = stopped => return None,
            };
            failures += 1;
            self.failed(&error, failures);
            let pause = pause(failures);
            if Instant::now() + pause >= held_until {
                return None;
            }
            tokio::select! {
                biased;
                () = stop.said() => return None,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    fn failed(&self, error: &IngestError, failures: u32) {
        let source = self.0.source.name();
        tracing::warn!(source, failures, %error, "messages from the broker are held");
        self.0.meters.failures.increment(1);
        let mut counts = self.counts();
        counts.failing_since.get_or_insert_with(Instant::now);
        counts.last_error = Some(error.to_string());
    }

    fn stored(&self, in_hand: &[InHand], taken: &[Taken], began: Instant) {
        for (one, taken) in in_hand.iter().zip(taken) {
            one.span.in_scope(|| tell(one, taken));
        }
        self.0.meters.stored(taken, began.elapsed());
        let mut counts = self.counts();
        for one in taken {
            match one {
                Taken::Stored { jobs } => {
                    counts.stored += 1;
                    counts.unrouted += u64::from(*jobs == 0);
                }
                Taken::Duplicate => counts.duplicates += 1,
                _ => counts.quarantined += 1,
            }
        }
        if counts.failing_since.take().is_some() {
            tracing::info!(source = self.0.source.name(), "messages from the broker are stored again");
        }
    }

    async fn acknowledge(&self, acknowledgements: Vec<Acknowledgement>) {
        let untold = told(acknowledgements.into_iter().map(Acknowledgement::acknowledge)).await;
        if let Some((count, why)) = untold {
            tracing::warn!(
                source = self.0.source.name(),
                count,
                why,
                "stored, and the broker could not be told so: they come again, and are known by their ids"
            );
            self.0.meters.unacknowledged.increment(count);
            self.counts().unacknowledged += count;
        }
    }

    async fn give_back(&self, acknowledgements: Vec<Acknowledgement>) {
        let count = acknowledgements.len() as u64;
        tracing::warn!(source = self.0.source.name(), count, "messages are given back to the broker, not stored");
        self.0.meters.given_back.increment(count);
        self.counts().given_back += count;
        // What it is not told of, it finds out by itself.
        let _ = told(acknowledgements.into_iter().map(Acknowledgement::give_back)).await;
    }
}

/// Tells the broker of all of them at once; how many it could not be told of, and why.
async fn told(
    words: impl Iterator<Item = impl Future<Output = Result<(), outbox::BoxError>>>,
) -> Option<(u64, String)> {
    let limited = words.map(async |word| match tokio::time::timeout(TELL_LIMIT, word).await {
        Ok(said) => said.map_err(|error| error.to_string()),
        Err(_) => Err(format!("the broker did not answer within {TELL_LIMIT:?}")),
    });
    let mut untold: Vec<String> = join_all(limited).await.into_iter().filter_map(Result::err).collect();
    let why = untold.pop()?;
    Some((untold.len() as u64 + 1, why))
}

fn tell(one: &InHand, taken: &Taken) {
    match taken {
        Taken::Stored { jobs } => tracing::debug!(jobs, "ingested"),
        Taken::Quarantined { id, unfit, again } => {
            let (class, version) = (unfit.class.as_str(), unfit.event_version);
            // Each time, because each time somebody sent it.
            tracing::warn!(quarantine = %id, class, version, again, reason = unfit.reason, "a message went to quarantine");
        }
        _ => tracing::debug!(redelivered = one.message.is_redelivered, "was an event already"),
    }
}

/// Counts what is in hand, whatever becomes of it.
struct Held<'i, S: Source> {
    ingest: &'i Ingest<S>,
    count: u64,
}

impl<'i, S: Source> Held<'i, S> {
    fn of(ingest: &'i Ingest<S>, count: usize) -> Self {
        ingest.0.meters.received(count);
        let count = count as u64;
        let mut counts = ingest.counts();
        counts.received += count;
        counts.held += count;
        drop(counts);
        Self { ingest, count }
    }
}

impl<S: Source> Drop for Held<'_, S> {
    fn drop(&mut self) {
        self.ingest.counts().held -= self.count;
    }
}
