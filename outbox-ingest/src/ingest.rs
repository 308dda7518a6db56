//! Receive, store, acknowledge, over and over.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox::Outbox;
use outbox::ingest::Ingestion;

use crate::builder::IngestBuilder;
use crate::meters::Meters;
use crate::source::Source;
use crate::status::{Counts, IngestStatus};

/// Events from one source into the local event table. A clone is the same ingest.
///
/// ```no_run
/// # async fn example<S: outbox_ingest::Source>(source: S, outbox: outbox::Outbox) -> Result<(), Box<dyn std::error::Error>> {
/// use std::convert::Infallible;
///
/// use outbox_ingest::Ingest;
///
/// let ingest = Ingest::builder(source).build()?;
/// outbox::Supervisor::new()
///     .background("ingest", move |stop| {
///         let (ingest, outbox) = (ingest.clone(), outbox.clone());
///         async move {
///             ingest.run(&outbox, async move { stop.cancelled().await }).await;
///             Ok::<_, Infallible>(())
///         }
///     })
///     .run(outbox::shutdown_signal())
///     .await?;
/// # Ok(())
/// # }
/// ```
pub struct Ingest<S>(pub(crate) Arc<Inner<S>>);

pub(crate) struct Inner<S> {
    pub(crate) source: S,
    pub(crate) settings: Settings,
    pub(crate) meters: Meters,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) prefetch: usize,
    pub(crate) hold: Duration,
    pub(crate) shutdown: Duration,
    pub(crate) everything: bool,
}

impl<S: Source> Ingest<S> {
    /// An ingest of what comes over `source`, to be built.
    #[must_use]
    pub fn builder(source: S) -> IngestBuilder<S> {
        IngestBuilder::new(source)
    }

    pub(crate) fn new(source: S, settings: Settings) -> Self {
        let meters = Meters::new(source.name());
        source.link().measured_by(Meters::disconnected(source.name()));
        Self(Arc::new(Inner { source, settings, meters, counts: Mutex::default() }))
    }

    /// How the source does. Computed when it is asked for, from what is in memory: it moves on also while nothing comes.
    #[must_use]
    pub fn status(&self) -> IngestStatus {
        let link = self.0.source.link().status();
        let counts = self.counts().clone();
        IngestStatus::new(self.0.source.name(), counts, link)
    }

    /// Takes what comes until `stop` is ready: a batch at a time, each in one transaction, and acknowledged when that has committed. Run
    /// several times at once, in this process or others, the runs share what comes.
    ///
    /// It never fails. While the database is away, the messages in hand are held, then given back, and none is received before it answers
    /// again; while the broker is away, it waits. Behind `stop` it ends within the time for its [shutdown](IngestBuilder::shutdown), and some
    /// seconds for telling the broker.
    ///
    /// # Cancel safety
    /// Dropped in the middle, what was not acknowledged comes again.
    pub async fn run(&self, outbox: &Outbox, stop: impl Future<Output = ()> + Send) {
        let mut stop = Stop { future: Box::pin(stop), is_said: false };
        let inner = &self.0;
        let mut ingestion = outbox.ingestion(inner.source.name()).everything(inner.settings.everything);
        loop {
            let deliveries = tokio::select! {
                biased;
                () = stop.said() => break,
                deliveries = inner.source.receive(inner.settings.prefetch) => deliveries,
            };
            let was_stored = self.take(&mut ingestion, deliveries, &mut stop).await;
            if !was_stored && !self.answers_again(&mut ingestion, &mut stop).await {
                break;
            }
        }
        ingestion.close().await;
    }

    /// Until a batch could be stored; `false` when it is to stop before. Whatever it was that failed, a circle of receiving and giving back
    /// would use up what a broker allows a message of deliveries.
    async fn answers_again(&self, ingestion: &mut Ingestion, stop: &mut Stop<'_>) -> bool {
        let mut failures = 0;
        loop {
            failures += 1;
            tokio::select! {
                biased;
                () = stop.said() => return false,
                () = tokio::time::sleep(crate::batch::pause(failures)) => {}
            }
            tokio::select! {
                biased;
                () = stop.said() => return false,
                probed = ingestion.probe() => if probed.is_ok() { return true },
            }
        }
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        // No panic can leave it half written.
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The word to stop, which may be waited for again when it was said.
pub(crate) struct Stop<'s> {
    future: Pin<Box<dyn Future<Output = ()> + Send + 's>>,
    is_said: bool,
}

impl Stop<'_> {
    pub(crate) async fn said(&mut self) {
        if !self.is_said {
            self.future.as_mut().await;
            self.is_said = true;
        }
    }
}

impl<S> Clone for Ingest<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Source> fmt::Debug for Ingest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ingest").field(&self.status()).finish()
    }
}
