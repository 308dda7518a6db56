//! An operator's replay: a subscriber receives stored events once more, under their own ids.

use std::fmt::{self, Display};
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{EventId, name};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::error::OperationError;
use crate::outbox::Outbox;
use crate::step::replay::{self, Batch, Choice, Standing};

/// Most events read by one statement.
const BATCH: u32 = 1_000;

/// Which of a subscriber's events are to be handled once more: see [`Outbox::replay`].
///
/// ```no_run
/// # async fn example(outbox: &outbox_postgres::Outbox) -> Result<(), outbox_postgres::OperationError> {
/// let replay = outbox.replay("search.index").event("order.*").subject("order", "4711").per_second(200);
/// println!("{}", replay.dry_run().await?); // asks first
/// println!("{}", replay.run().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a replay does nothing before it is run"]
pub struct Replay<'a> {
    outbox: &'a Outbox,
    choice: Choice,
    per_second: Option<u32>,
}

/// What a replay came to, or would come to. Every event that was asked for is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// Have a job now; or would have, in a dry run.
    pub enqueued: u64,
    /// Had a job that is pending or running, and got no second one.
    pub live: u64,
    /// Had a job that failed, which is [redriven](Outbox::redrive), not doubled.
    pub failed: u64,
    /// Had had their effect, by the mark of a handler that takes the transaction, or, where only missing ones were asked for, by a job
    /// that succeeded.
    pub done: u64,
    /// Were erased: there is nothing left to run a handler with.
    pub erased: u64,
    /// Where only missing ones were asked for: are older than the finished jobs that are kept, so that nobody knows.
    pub unknown: u64,
}

impl Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enqueued, live, failed, done, erased, unknown } = self;
        write!(f, "{enqueued} to run, {live} on their way, {failed} failed, {done} done before")?;
        write!(f, ", {erased} erased, {unknown} too old to tell")
    }
}

impl Replayed {
    /// For the meters: each event once, as what it was. What was done before is no success of this replay.
    fn count(&self, subscriber: &str) {
        let Self { enqueued, live, failed, done, erased, unknown } = *self;
        let kinds = [
            ("enqueued", enqueued),
            ("live", live),
            ("failed", failed),
            ("done_before", done),
            ("erased", erased),
            ("unknown", unknown),
        ];
        for (outcome, count) in kinds {
            let labels = [("subscriber", subscriber.to_owned()), ("outcome", outcome.to_owned())];
            metrics::counter!("outbox_replayed_total", &labels).increment(count);
        }
    }
}

impl Outbox {
    /// Has a subscriber handle stored events once more: all of its own, or those that the answer is narrowed down to. A job that it gets
    /// so carries the event's original id, and with it the same idempotency key: an effect that was had is not had twice, by a handler that takes the
    /// transaction because its mark is there, by another because whoever has the effect knows the key.
    ///
    /// It is another thing than a reconciliation: what was never published cannot be replayed.
    pub fn replay(&self, subscriber: impl Into<String>) -> Replay<'_> {
        Replay { outbox: self, choice: Choice { handler: subscriber.into(), ..Choice::default() }, per_second: None }
    }
}

impl Replay<'_> {
    /// Only events of this name, or of this pattern (`order.*`).
    pub fn event(mut self, pattern: &str) -> Self {
        self.choice.event = match pattern.strip_suffix('*') {
            Some("") => None,
            Some(prefix) => Some((prefix.to_owned(), true)),
            None => Some((pattern.to_owned(), false)),
        };
        self
    }

    /// Only events of this subject.
    #[allow(clippy::needless_pass_by_value, reason = "a number or a text, as it is at hand")]
    pub fn subject(mut self, kind: impl Into<String>, id: impl Display) -> Self {
        self.choice.subject = Some((kind.into(), Some(id.to_string())));
        self
    }

    /// Only these events.
    pub fn ids(mut self, ids: impl IntoIterator<Item = EventId>) -> Self {
        self.choice.ids = Some(ids.into_iter().map(EventId::as_uuid).collect());
        self
    }

    /// Only events that occurred at this moment or later.
    pub fn from(mut self, moment: DateTime<Utc>) -> Self {
        self.choice.from = Some(moment);
        self
    }

    /// Only events that occurred before this moment.
    pub fn until(mut self, moment: DateTime<Utc>) -> Self {
        self.choice.until = Some(moment);
        self
    }

    /// Only events of which the subscriber has no job, nor had one: what a backfill does by itself from a subscriber's activation on, as far
    /// back as is asked for. Events from before the finished jobs that are kept are left out, and counted as unknown.
    pub fn only_missing(mut self) -> Self {
        self.choice.only_missing = true;
        self
    }

    /// So many jobs a second at most, so that they do not crowd out what happens now. As many as there are unless said otherwise; 0 is 1.
    pub fn per_second(mut self, jobs: u32) -> Self {
        self.per_second = Some(jobs.max(1));
        self
    }

    /// What it would come to, and nothing else. Reads what [`run`](Self::run) would read.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn dry_run(&self) -> Result<Replayed, OperationError> {
        self.go(false).await
    }

    /// Writes the jobs, a bounded batch a transaction.
    ///
    /// # Errors
    /// When the catalogue does not know the subscriber, or knows it as retired or as something that has no jobs of events; when the name of the event is none;
    /// when the database refuses.
    ///
    /// # Cancel safety
    /// Dropped in the middle, a part of the jobs is written. To go on, run it again: those that are on their way get no second one.
    pub async fn run(&self) -> Result<Replayed, OperationError> {
        self.go(true).await
    }

    async fn go(&self, write: bool) -> Result<Replayed, OperationError> {
        let (outbox, choice) = (self.outbox, &self.choice);
        self.check().await?;
        let horizon = if choice.only_missing {
            replay::horizon(&mut *outbox.pool().acquire().await?, outbox.schema()).await?
        } else {
            None
        };
        let most = self.per_second.filter(|_| write).unwrap_or(BATCH).min(BATCH);
        let mut batch = Batch { behind: Uuid::nil(), before: Uuid::max(), most: most.cast_signed(), write, horizon };
        let (mut replayed, began) = (Replayed::default(), Instant::now());
        loop {
            let mut connection = outbox.pool().acquire().await?;
            let came = replay::replay(&mut connection, outbox.statements(), choice, batch).await?;
            drop(connection);
            // One that was made by somebody else at this moment is on its way.
            let enqueued = if write { came.written } else { came.due };
            replayed.enqueued += enqueued;
            replayed.live += came.live + (came.due - enqueued);
            replayed.failed += came.failed;
            replayed.done += came.done;
            replayed.erased += came.erased;
            replayed.unknown += came.unknown;
            if came.written > 0 {
                outbox.kick();
            }
            let Some(last) = came.last.filter(|_| came.looked_at >= u64::from(most)) else {
                tracing::info!(subscriber = choice.handler, write, %replayed, "replay");
                if write {
                    replayed.count(&choice.handler);
                }
                return Ok(replayed);
            };
            batch.behind = last;
            if let Some(rate) = self.per_second.filter(|_| write) {
                let earned = replayed.enqueued.saturating_mul(1_000_000) / u64::from(rate);
                sleep_until(began + Duration::from_micros(earned)).await;
            }
        }
    }

    async fn check(&self) -> Result<(), OperationError> {
        if let Some((event, is_prefix)) = &self.choice.event {
            let said = if *is_prefix { format!("{event}*") } else { event.clone() };
            if !name::is_pattern(&said) {
                return Err(OperationError::NoEvent(said));
            }
        }
        let handler = &self.choice.handler;
        let mut connection = self.outbox.pool().acquire().await?;
        match replay::standing(&mut connection, self.outbox.schema(), handler).await? {
            Standing::Replayable => Ok(()),
            Standing::Unknown => Err(OperationError::UnknownSubscriber(handler.clone())),
            Standing::Retired => Err(OperationError::Retired(handler.clone())),
            Standing::Another(kind) => Err(OperationError::NotReplayable { handler: handler.clone(), kind }),
        }
    }
}
