use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Key, KeyName, Recorder, SharedString, Unit};

use super::*;
use crate::circuit::Limits;
use crate::transport::Link;

/// Counters and gauges of this test's thread.
#[derive(Default)]
struct Recorded(Mutex<BTreeMap<String, Arc<AtomicU64>>>);

impl Recorded {
    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels: Vec<_> = key.labels().map(|label| label.value().to_owned()).collect();
        Arc::clone(self.0.lock().unwrap().entry(format!("{} {}", key.name(), labels.join(" "))).or_default())
    }

    fn bits(&self, name: &str) -> u64 {
        self.0.lock().unwrap().get(name).unwrap_or_else(|| panic!("no meter `{name}`")).load(Ordering::SeqCst)
    }

    fn gauge(&self, name: &str) -> f64 {
        f64::from_bits(self.bits(name))
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &metrics::Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, _: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// S2-22: what does not go is counted of each destination by itself, by what became of it; a destination that does not go at all
/// shows in a gauge of its own.
#[test]
fn failures_are_counted_of_each_destination_by_itself() {
    let recorded = Recorded::default();
    let [ill, well] = metrics::with_local_recorder(&recorded, || ["ill", "well"].map(Meters::new));
    let took = Duration::from_millis(1);
    ill.answered(&Err(NotConfirmed::Unreachable("nobody".into())), took);
    ill.answered(&Err(NotConfirmed::NoAnswer(took)), took);
    ill.answered(&Err(NotConfirmed::Unroutable { route: "a.b".into(), reason: String::new() }), took);
    well.answered(&Ok(Confirmed::new()), took);
    well.answered(&Ok(Confirmed::duplicate(true)), took);
    let count = |destination: &str, outcome: &str| {
        recorded.bits(&format!("outbox_relay_messages_total {destination} {outcome}"))
    };
    for outcome in OUTCOMES {
        let expected = match outcome {
            "unreachable" | "unanswered" | "unroutable" => (1, 0),
            "confirmed" | "duplicate" => (0, 1),
            _ => (0, 0),
        };
        assert_eq!((count("ill", outcome), count("well", outcome)), expected, "{outcome}");
    }
    let limits = Limits { window: 4, first_pause: Duration::from_secs(1), longest_pause: Duration::from_secs(8) };
    let mut circuit = Circuit::new(limits);
    let now = tokio::time::Instant::now();
    let crate::circuit::Admission::Go(ticket) = circuit.admit(now) else { panic!("it is closed") };
    circuit.unreachable(&ticket, now, 0.0);
    ill.circuit(&circuit);
    well.circuit(&Circuit::new(limits));
    assert_eq!(recorded.bits("outbox_relay_pauses_in_a_row ill"), 1.0_f64.to_bits());
    assert_eq!(recorded.bits("outbox_relay_pauses_in_a_row well"), 0.0_f64.to_bits());
}

/// The moment since which a connection is away stays, however often it is looked at, and is infinite while there is one.
#[tokio::test(start_paused = true)]
async fn the_moment_of_a_loss_is_told() {
    const NAME: &str = "outbox_relay_disconnected_timestamp_seconds nats";
    let recorded = Recorded::default();
    let link = Link::new();
    let away = metrics::with_local_recorder(&recorded, || Away::new("nats"));
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    link.measured(away);
    // Never connected: away since its beginning.
    assert!((recorded.gauge(NAME) - before).abs() < 60.0);
    link.connected();
    assert!(recorded.gauge(NAME).is_infinite());
    link.disconnected(None);
    let lost = recorded.bits(NAME);
    assert!(f64::from_bits(lost) >= before);
    tokio::time::advance(Duration::from_mins(10)).await;
    assert_eq!(recorded.bits(NAME), lost, "nobody writes it while it is away");
}
