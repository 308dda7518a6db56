//! What operators are told by numbers, through the `metrics` facade; of each source by itself.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use outbox::ingest::{QuarantineClass, Taken};

const OUTCOMES: [&str; 4] = ["stored", "unrouted", "duplicate", "quarantined"];

/// The meters of one source in this process.
pub(crate) struct Meters {
    received: Counter,
    outcomes: [Counter; OUTCOMES.len()],
    quarantined: [Counter; QuarantineClass::ALL.len()],
    pub(crate) given_back: Counter,
    pub(crate) unacknowledged: Counter,
    pub(crate) failures: Counter,
    seconds: Histogram,
}

impl Meters {
    pub(crate) fn new(source: &str) -> Self {
        let name = || source.to_owned();
        let outcome =
            |outcome| metrics::counter!("outbox_ingest_messages_total", "source" => name(), "outcome" => outcome);
        let class = |class: QuarantineClass| metrics::counter!("outbox_quarantined_total", "source" => name(), "class" => class.as_str());
        Self {
            received: metrics::counter!("outbox_ingest_received_total", "source" => name()),
            outcomes: OUTCOMES.map(outcome),
            quarantined: QuarantineClass::ALL.map(class),
            given_back: metrics::counter!("outbox_ingest_given_back_total", "source" => name()),
            unacknowledged: metrics::counter!("outbox_ingest_unacknowledged_total", "source" => name()),
            failures: metrics::counter!("outbox_ingest_failures_total", "source" => name()),
            seconds: metrics::histogram!("outbox_ingest_seconds", "source" => name()),
        }
    }

    /// Since when a source does not consume, as a moment: an age would stand still, and look well, when whoever writes it does.
    pub(crate) fn disconnected(source: &str) -> Gauge {
        metrics::gauge!("outbox_ingest_disconnected_timestamp_seconds", "source" => source.to_owned())
    }

    pub(crate) fn received(&self, count: usize) {
        self.received.increment(count as u64);
    }

    /// A batch was stored, so long after it came.
    pub(crate) fn stored(&self, taken: &[Taken], took: Duration) {
        for one in taken {
            let place = match one {
                Taken::Stored { jobs: 0 } => 1,
                Taken::Duplicate => 2,
                Taken::Quarantined { unfit, .. } => {
                    if let Some(place) = QuarantineClass::ALL.iter().position(|class| *class == unfit.class) {
                        self.quarantined[place].increment(1);
                    }
                    3
                }
                _ => 0,
            };
            self.outcomes[place].increment(1);
        }
        self.seconds.record(took);
    }
}
