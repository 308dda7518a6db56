//! What operators are told by numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Recorder, SharedString, Unit};
use outbox_ingest::{Quarantine, Selection, Source as _};

use crate::fake::Sent;
use crate::floor::{Floor, new_id, policy};

#[derive(Default)]
struct Meters {
    cells: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    samples: Arc<Samples>,
}

#[derive(Default)]
struct Samples(AtomicU64);

impl HistogramFn for Samples {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Meters {
    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels: Vec<_> = key.labels().map(|label| format!(" {}", label.value())).collect();
        Arc::clone(self.cells.lock().unwrap().entry(format!("{}{}", key.name(), labels.concat())).or_default())
    }

    fn count(&self, name: &str) -> u64 {
        self.cells.lock().unwrap().get(name).map_or(0, |cell| cell.load(Ordering::SeqCst))
    }

    fn gauge(&self, name: &str) -> f64 {
        f64::from_bits(self.count(name))
    }
}

impl Recorder for Meters {
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
        Histogram::from_arc(Arc::clone(&self.samples))
    }
}

/// S2-56: each message is counted by what became of it, each batch by how long it took, and none by its id; what is quarantined by its class.
#[tokio::test]
async fn each_message_is_counted_by_what_became_of_it() {
    let meters = Meters::default();
    let _recording = metrics::set_default_local_recorder(&meters);
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let good = policy("p1");
    let viewed = Sent::event(&new_id().to_string(), "policy.viewed.v1", r#"{"number":"p1"}"#);
    let bad = Sent::event(&new_id().to_string(), "parcel.sent.v1", "{}");
    floor.take(&outbox, &[good.clone(), good, viewed, bad]).await;
    for (name, expected) in [
        ("outbox_ingest_received_total fake", 4),
        ("outbox_ingest_messages_total fake stored", 1),
        ("outbox_ingest_messages_total fake unrouted", 1),
        ("outbox_ingest_messages_total fake duplicate", 1),
        ("outbox_ingest_messages_total fake quarantined", 1),
        ("outbox_quarantined_total fake unknown_type", 1),
        ("outbox_quarantined_total fake undecodable", 0),
        ("outbox_ingest_given_back_total fake", 0),
    ] {
        assert_eq!(meters.count(name), expected, "{name}");
    }
    assert!(meters.samples.0.load(Ordering::SeqCst) > 0);
    let names = meters.cells.lock().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(
        names.iter().all(|name| name.split(' ').all(|word| word.len() < 60 && !word.starts_with("01"))),
        "{names:?}"
    );
    Quarantine::of(&outbox).redrive_matching(&Selection::all()).await.unwrap();
    assert_eq!(meters.count("outbox_quarantine_redriven_total quarantined"), 1);
}

/// S2-60: since when nothing is consumed is a moment, from which an age follows also while nobody writes it; infinite while all is well.
#[tokio::test]
async fn the_time_without_a_broker_is_told() {
    const NAME: &str = "outbox_ingest_disconnected_timestamp_seconds fake";
    let meters = Meters::default();
    let _recording = metrics::set_default_local_recorder(&meters);
    let floor = Floor::new().await;
    let ingest = floor.ingest();
    assert!(meters.gauge(NAME).is_infinite());
    floor.fake.link().disconnected("reset by peer".to_owned());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((meters.gauge(NAME) - now).abs() < 60.0);
    let status = ingest.status();
    assert!(status.link.down_for.is_some());
    assert_eq!(status.link.last_error.as_deref(), Some("reset by peer"));
    floor.fake.link().connected();
    assert!(meters.gauge(NAME).is_infinite());
    assert!(ingest.status().link.down_total >= status.link.down_total);
}
