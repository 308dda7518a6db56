//! What operators are told by numbers, through the `metrics` facade; of each destination by itself.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics::{Counter, Gauge, Histogram};

use crate::circuit::Circuit;
use crate::transport::{Confirmed, NotConfirmed};

const OUTCOMES: [&str; 8] =
    ["confirmed", "duplicate", "unroutable", "refused", "unsendable", "unanswered", "unreachable", "ingested"];

/// The meters of one destination in this process.
pub(crate) struct Meters {
    outcomes: [Counter; OUTCOMES.len()],
    seconds: Histogram,
    pauses_in_a_row: Gauge,
    window: Gauge,
}

impl Meters {
    pub(crate) fn new(destination: &str) -> Self {
        let name = || destination.to_owned();
        let outcome =
            |outcome| metrics::counter!("outbox_relay_messages_total", "destination" => name(), "outcome" => outcome);
        Self {
            outcomes: OUTCOMES.map(outcome),
            seconds: metrics::histogram!("outbox_relay_publish_seconds", "destination" => name()),
            pauses_in_a_row: metrics::gauge!("outbox_relay_pauses_in_a_row", "destination" => name()),
            window: metrics::gauge!("outbox_relay_window", "destination" => name()),
        }
    }

    pub(crate) fn answered(&self, answer: &Result<Confirmed, NotConfirmed>, took: Duration) {
        let place = match answer {
            Ok(Confirmed { is_duplicate: false }) => 0,
            Ok(Confirmed { is_duplicate: true }) => 1,
            Err(NotConfirmed::Unroutable { .. }) => 2,
            Err(NotConfirmed::Refused(_)) => 3,
            Err(NotConfirmed::Unsendable(_)) => 4,
            Err(NotConfirmed::NoAnswer(_)) => 5,
            Err(NotConfirmed::Unreachable(_)) => 6,
        };
        self.outcomes[place].increment(1);
        self.seconds.record(took);
    }

    /// One that is not sent, because it came in by ingest.
    pub(crate) fn ingested(&self) {
        self.outcomes[7].increment(1);
    }

    pub(crate) fn circuit(&self, circuit: &Circuit) {
        self.pauses_in_a_row.set(f64::from(circuit.failures()));
        self.window.set(f64::from(circuit.window()));
    }
}

/// Since when a connection is away. A moment, not an age: an age would stand still, and look well, when whoever writes it does.
pub(crate) struct Away(Gauge);

impl Away {
    pub(crate) fn new(destination: &str) -> Self {
        let name = destination.to_owned();
        Self::by(metrics::gauge!("outbox_relay_disconnected_timestamp_seconds", "destination" => name))
    }

    pub(crate) fn by(gauge: Gauge) -> Self {
        Self(gauge)
    }

    /// For so long already; `None` while it is there, which is written as away since never.
    pub(crate) fn set(&self, down_for: Option<Duration>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.0.set(down_for.map_or(f64::INFINITY, |down| now.saturating_sub(down).as_secs_f64()));
    }
}

#[cfg(test)]
#[path = "meters/tests.rs"]
mod tests;
