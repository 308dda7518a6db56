//! What is counted and measured, through the `metrics` facade: nothing where the application installs no recorder.
//!
//! Handles are made once an outbox, so that counting costs an atomic addition; a recorder has to be there before `build()`. Labels are names
//! that the program declares: handlers, events, schedules. Never an id.
//!
//! Ages are given as the moment since which something waits: a gauge of an age would stand still, and look well, when the loop that writes
//! it does.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics::{Counter, Gauge, Histogram};
use outbox_core::SubscriberDescriptor;
use outbox_core::transition::{Next, Reason};

use crate::hashed::HashMap;
use crate::step::depth::Depth;

/// What became of an execution: its label, and its place among the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    Succeeded,
    /// Its effect was there: its handler was not called.
    Duplicate,
    /// Its handler's `when` declined.
    Skipped,
    /// Its handler found nothing to do any more.
    Discarded,
    Retried,
    Snoozed,
    /// Given back, uncharged.
    Returned,
    /// A dead letter.
    Failed,
    /// Nobody knows whether its effect took place.
    Parked,
    /// Too old when its turn came: its handler was not called.
    Expired,
    /// Its lease was lost, and what it wrote in its transaction was rolled back.
    Lost,
}

const CAME: [&str; 11] = [
    "succeeded",
    "duplicate",
    "skipped",
    "discarded",
    "retried",
    "snoozed",
    "returned",
    "failed",
    "parked",
    "expired",
    "lost",
];

impl Came {
    pub(crate) fn of(next: &Next) -> Self {
        match next {
            Next::Succeeded(Some(Reason::Duplicate)) => Self::Duplicate,
            Next::Succeeded(Some(Reason::Skipped)) => Self::Skipped,
            Next::Succeeded(Some(Reason::Discarded)) => Self::Discarded,
            Next::Succeeded(_) => Self::Succeeded,
            Next::Retry(_) => Self::Retried,
            Next::Snooze(_) => Self::Snoozed,
            Next::Return => Self::Returned,
            Next::Failed(Reason::Unknown) => Self::Parked,
            Next::Failed(Reason::Expired) => Self::Expired,
            Next::Failed(_) => Self::Failed,
        }
    }
}

/// The meters of one outbox.
pub(crate) struct Meters {
    handlers: HashMap<&'static str, Arc<OfHandler>>,
    events: HashMap<&'static str, (Counter, Histogram)>,
    schedules: HashMap<&'static str, Histogram>,
    pub(crate) renewed: Counter,
    pub(crate) not_renewed: Counter,
    pub(crate) leases_lost: Counter,
    looked: Gauge,
    starving: Gauge,
}

/// Those of one handler.
pub(crate) struct OfHandler {
    came: [Counter; CAME.len()],
    seconds: Histogram,
    delay: Histogram,
    running: Gauge,
    due: Gauge,
    oldest: Gauge,
    failed: Gauge,
    parked: Gauge,
    oldest_parked: Gauge,
}

impl Meters {
    pub(crate) fn new(handlers: &[&'static SubscriberDescriptor], events: impl Iterator<Item = &'static str>) -> Self {
        let scheduled = handlers.iter().filter(|one| one.schedule().is_some());
        let schedule = |name| metrics::histogram!("outbox_schedule_delay_seconds", "schedule" => name);
        let event = |name| {
            let count = metrics::counter!("outbox_published_total", "event" => name);
            (count, metrics::histogram!("outbox_publish_seconds", "event" => name))
        };
        Self {
            handlers: handlers.iter().map(|one| (one.name, Arc::new(OfHandler::new(one.name)))).collect(),
            events: events.map(|name| (name, event(name))).collect(),
            schedules: scheduled.map(|one| (one.name, schedule(one.name))).collect(),
            renewed: metrics::counter!("outbox_lease_renewals_total", "outcome" => "renewed"),
            not_renewed: metrics::counter!("outbox_lease_renewals_total", "outcome" => "failed"),
            leases_lost: metrics::counter!("outbox_leases_lost_total"),
            looked: metrics::gauge!("outbox_looked_timestamp_seconds"),
            starving: metrics::gauge!("outbox_starving_jobs"),
        }
    }

    /// `None` for a handler that this process does not run.
    pub(crate) fn of(&self, handler: &str) -> Option<&Arc<OfHandler>> {
        self.handlers.get(handler)
    }

    /// So many events were published, which took so long; their transaction may still be rolled back.
    pub(crate) fn published(&self, event: &str, count: usize, took: Duration) {
        if let Some((counter, seconds)) = self.events.get(event) {
            counter.increment(u64::try_from(count).unwrap_or(u64::MAX));
            seconds.record(took);
        }
    }

    /// A tick was taken so long after it was due.
    pub(crate) fn ticked(&self, schedule: &str, late: Duration) {
        if let Some(delay) = self.schedules.get(schedule) {
            delay.record(late);
        }
    }

    /// What waits now, of all handlers; those that are not among them have nothing.
    pub(crate) fn depths(&self, found: &[Depth]) {
        for (name, meter) in &self.handlers {
            let depth = found.iter().find(|one| one.handler == *name);
            meter.due.set(depth.map_or(0.0, |one| number(one.due)));
            // Nothing waits since never: 0 would be an age of half a century.
            meter.oldest.set(depth.and_then(|one| one.oldest).unwrap_or(f64::INFINITY));
            meter.failed.set(depth.map_or(0.0, |one| number(one.failed)));
            meter.parked.set(depth.map_or(0.0, |one| number(one.parked)));
            meter.oldest_parked.set(depth.and_then(|one| one.oldest_parked).unwrap_or(f64::INFINITY));
        }
        self.starving.set(number(found.iter().flat_map(|one| &one.starving).map(|one| one.due).sum()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.looked.set(now.as_secs_f64());
    }
}

impl OfHandler {
    fn new(handler: &'static str) -> Self {
        Self {
            came: CAME.map(
                |outcome| metrics::counter!("outbox_executions_total", "handler" => handler, "outcome" => outcome),
            ),
            seconds: metrics::histogram!("outbox_execution_seconds", "handler" => handler),
            delay: metrics::histogram!("outbox_start_delay_seconds", "handler" => handler),
            running: metrics::gauge!("outbox_executions_running", "handler" => handler),
            due: metrics::gauge!("outbox_due_jobs", "handler" => handler),
            oldest: metrics::gauge!("outbox_oldest_due_timestamp_seconds", "handler" => handler),
            failed: metrics::gauge!("outbox_failed_jobs", "handler" => handler),
            parked: metrics::gauge!("outbox_parked_jobs", "handler" => handler),
            oldest_parked: metrics::gauge!("outbox_oldest_parked_timestamp_seconds", "handler" => handler),
        }
    }

    pub(crate) fn came(&self, came: Came) {
        self.came[came as usize].increment(1);
    }

    /// A call of so many jobs begins, the first of them so long after it was due.
    pub(crate) fn begins(&self, late: Duration) {
        self.running.increment(1.0);
        self.delay.record(late);
    }

    /// It has ended, however it ended.
    pub(crate) fn ends(&self, ran: Duration) {
        self.running.decrement(1.0);
        self.seconds.record(ran);
    }
}

#[allow(clippy::cast_precision_loss, reason = "no gauge needs to be exact beyond 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

impl std::fmt::Debug for Meters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meters").field("handlers", &self.handlers.len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OfHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfHandler").finish_non_exhaustive()
    }
}
