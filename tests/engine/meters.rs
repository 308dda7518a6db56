//! meters: what operators are told by numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, LocalRecorderGuard, Recorder, SharedString, Unit};
use outbox_testing::eventually;

use crate::floor::{Do, Floor, Worker, ask, fail, wait};

/// The meters of this test's thread, and so of what is built on it.
#[derive(Default)]
struct Meters {
    counters: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    gauges: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    histograms: Mutex<BTreeMap<String, Arc<Samples>>>,
}

#[derive(Default)]
struct Samples(Mutex<Vec<f64>>);

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

/// Name and labels, as `name label=value`.
fn named(key: &Key) -> String {
    let mut labels: Vec<_> = key.labels().map(|label| format!(" {}={}", label.key(), label.value())).collect();
    labels.sort();
    format!("{}{}", key.name(), labels.concat())
}

impl Recorder for Meters {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &metrics::Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::clone(self.counters.lock().unwrap().entry(named(key)).or_default()))
    }

    fn register_gauge(&self, key: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::clone(self.gauges.lock().unwrap().entry(named(key)).or_default()))
    }

    fn register_histogram(&self, key: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::clone(self.histograms.lock().unwrap().entry(named(key)).or_default()))
    }
}

impl Meters {
    /// From here on, on this thread.
    fn record(&self) -> LocalRecorderGuard<'_> {
        metrics::set_default_local_recorder(self)
    }

    fn count(&self, name: &str) -> u64 {
        self.counters.lock().unwrap().get(name).map_or(0, |count| count.load(Ordering::SeqCst))
    }

    /// `None` for one that nobody has.
    fn gauge(&self, name: &str) -> Option<f64> {
        self.gauges.lock().unwrap().get(name).map(|bits| f64::from_bits(bits.load(Ordering::SeqCst)))
    }

    fn samples(&self, name: &str) -> Vec<f64> {
        self.histograms.lock().unwrap().get(name).map(|samples| samples.0.lock().unwrap().clone()).unwrap_or_default()
    }

    fn names(&self) -> Vec<String> {
        let counters = self.counters.lock().unwrap().keys().cloned().collect::<Vec<_>>();
        let gauges = self.gauges.lock().unwrap().keys().cloned().collect();
        let histograms = self.histograms.lock().unwrap().keys().cloned().collect();
        [counters, gauges, histograms].concat()
    }
}

/// S2-27, S2-56: publishes, executions by what became of them, how long they took and how late they began; labels are declared names, never ids.
#[tokio::test]
async fn publishes_and_executions_are_counted_by_what_became_of_them() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let event = ask(&worker.outbox, "a", [fail("one"), Do::Snooze(10)]).await;
    floor.until("desk.note", event, "succeeded").await;
    let bad = ask(&worker.outbox, "b", [Do::Quarantine]).await;
    floor.until("desk.note", bad, "failed").await;
    let gone = ask(&worker.outbox, "c", [Do::Discard]).await;
    floor.until("desk.note", gone, "succeeded").await;
    worker.stop().await;
    assert_eq!(meters.count("outbox_published_total event=work.asked"), 3);
    assert_eq!(meters.samples("outbox_publish_seconds event=work.asked").len(), 3);
    let executions = |outcome: &str| format!("outbox_executions_total handler=desk.note outcome={outcome}");
    for (outcome, times) in
        [("retried", 1), ("snoozed", 1), ("succeeded", 1), ("failed", 1), ("discarded", 1), ("returned", 0)]
    {
        assert_eq!(meters.count(&executions(outcome)), times, "{outcome}");
    }
    assert_eq!(meters.samples("outbox_execution_seconds handler=desk.note").len(), 5);
    let delays = meters.samples("outbox_start_delay_seconds handler=desk.note");
    assert_eq!(delays.len(), 5);
    // The retry was due 100 ms after the failure: how late it began counts from then, not from its publish.
    assert!(delays.iter().all(|delay| (0.0..10.0).contains(delay)), "{delays:?}");
    let ids = [event, bad].map(|id| id.to_string());
    for name in meters.names() {
        assert!(!ids.iter().any(|id| name.contains(id)), "{name}");
    }
}

/// S2-57: how many run now; a panic counts down too.
#[tokio::test]
async fn running_executions_are_a_gauge_that_comes_down() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.once"]).await;
    ask(&worker.outbox, "waits", wait("gate")).await;
    floor.until_begun("desk.once", "waits", 1).await;
    assert_eq!(meters.gauge("outbox_executions_running handler=desk.once"), Some(1.0));
    let panics = ask(&worker.outbox, "panics", [Do::Panic("on fire".to_owned())]).await;
    floor.until("desk.once", panics, "failed").await;
    floor.stage.open("gate");
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(meters.gauge("outbox_executions_running handler=desk.once"), Some(0.0));
}

/// S2-21, S2-58, S2-59: how much is due and since when, and how many failed. What is not due yet is not late, and the age is given as a
/// moment, which grows old by itself when nobody writes the gauge any more.
#[tokio::test]
async fn what_waits_is_told_by_count_and_moment() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.single", "desk.once"]).build().await.unwrap();
    let failed = ask(&outbox, "fails", [fail("one")]).await;
    outbox.drain().await.unwrap();
    floor.until("desk.once", failed, "failed").await;
    for label in ["a", "b", "c"] {
        ask(&outbox, label, wait("gate")).await;
    }
    // Due an hour ago, in an hour, and now; and none is claimed, because the worker has no slot for this handler.
    let times = "update :schema.job_live set available_at = now() + case job_type when 'desk.once' then interval '1 hour' else interval '-1 hour' end";
    floor.sandbox.execute(times).await;
    let worker = Worker::start(floor.outbox(&["desk.single", "desk.once"]).concurrency(1).build().await.unwrap());
    let due = "outbox_due_jobs handler=desk.single";
    eventually("the gauges are written", async || {
        meters.gauge("outbox_looked_timestamp_seconds").filter(|at| *at > 0.0)
    })
    .await;
    assert!(meters.gauge(due).is_some_and(|due| (2.0..=3.0).contains(&due)), "{:?}", meters.gauge(due));
    let since = meters.gauge("outbox_oldest_due_timestamp_seconds handler=desk.single").unwrap();
    let age = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() - since;
    assert!((3_500.0..3_700.0).contains(&age), "{age}");
    assert_eq!(meters.gauge("outbox_due_jobs handler=desk.once"), Some(0.0), "scheduled is not late");
    assert_eq!(meters.gauge("outbox_oldest_due_timestamp_seconds handler=desk.once"), Some(f64::INFINITY));
    assert_eq!(meters.gauge("outbox_failed_jobs handler=desk.once"), Some(1.0));
    floor.stage.open("gate");
    worker.stop().await;
}

/// S2-61: renewals are counted, and a lease that is lost.
#[tokio::test]
async fn renewals_and_lost_leases_are_counted() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    eventually("it is renewed", async || {
        (meters.count("outbox_lease_renewals_total outcome=renewed") > 0).then_some(())
    })
    .await;
    assert_eq!(meters.count("outbox_leases_lost_total"), 0);
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    eventually("the loss is counted", async || (meters.count("outbox_leases_lost_total") == 1).then_some(())).await;
    worker.stop().await;
}

/// S2-61: durable leases too, by name: taken, renewed, lost to somebody else, given back.
#[tokio::test]
async fn durable_leases_are_counted() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let sandbox = outbox_testing::Sandbox::new().await;
    let leases = outbox::Leases::new(sandbox.pool()).schema(sandbox.schema()).unwrap();
    let outcome = |outcome: &str| meters.count(&format!("outbox_durable_leases_total lease=report outcome={outcome}"));
    let lease = || leases.lease("report").length(Duration::from_secs(2)).unwrap();
    lease()
        .try_run(async |_| eventually("it is renewed", async || (outcome("renewed") > 0).then_some(())).await)
        .await
        .unwrap();
    assert_eq!((outcome("taken"), outcome("lost"), outcome("given_back")), (1, 0, 1));
    let lost = lease().try_run(async |_| {
        sandbox.execute("update :schema.lease set expires_at = now()").await;
        std::future::pending::<()>().await;
    });
    lost.await.unwrap_err();
    eventually("the loss is counted", async || (outcome("lost") == 1).then_some(())).await;
}

/// S2-62: how late a schedule's tick was taken, from when it was due.
#[tokio::test]
async fn a_schedules_delay_counts_from_its_tick() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["night.pulse"]).build().await.unwrap();
    let worker = Worker::start(outbox);
    eventually("it is declared", async || {
        (floor.sandbox.number("select count(*) from :schema.schedule").await == 1).then_some(())
    })
    .await;
    floor.sandbox.execute("update :schema.schedule set next_tick = next_tick - interval '100 seconds'").await;
    let name = "outbox_schedule_delay_seconds schedule=night.pulse";
    let late = eventually("the tick is taken", async || {
        meters.samples(name).into_iter().find(|late| *late > Duration::from_secs(50).as_secs_f64())
    });
    let late = late.await;
    assert!(late < 130.0, "{late}");
    worker.stop().await;
}

/// S2-63: what a replay came to, each event once and as what it was: what was done before is no success.
#[tokio::test]
async fn a_replays_outcome_is_counted() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book", "desk.note"]).build().await.unwrap();
    ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    outbox.replay("till.book").dry_run().await.unwrap();
    outbox.replay("till.book").run().await.unwrap();
    outbox.replay("desk.note").run().await.unwrap();
    let replayed =
        |outcome: &str, subscriber: &str| format!("outbox_replayed_total outcome={outcome} subscriber={subscriber}");
    assert_eq!(meters.count(&replayed("done_before", "till.book")), 1);
    assert_eq!(meters.count(&replayed("enqueued", "till.book")), 0);
    assert_eq!(meters.count(&replayed("enqueued", "desk.note")), 1);
}

/// S2-72, S2-5: what is parked can be alerted on, by how many and since when, whoever parked it; and both kinds of end are counted apart from failures.
#[tokio::test]
async fn what_is_parked_or_expired_is_counted() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay", "desk.letter"]).build().await.unwrap();
    ask(&outbox, "a", [Do::Unknown(None)]).await;
    let mut tx = outbox.begin().await.unwrap();
    let letter = crate::floor::Letter { label: "old".into() };
    outbox.enqueue(&mut tx, &letter).expires(Duration::ZERO).await.unwrap();
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    let outcome = |handler: &str, outcome: &str| format!("outbox_executions_total handler={handler} outcome={outcome}");
    eventually("both ends are counted", async || {
        let ends = meters.count(&outcome("bank.pay", "parked")) + meters.count(&outcome("desk.letter", "expired"));
        (ends == 2).then_some(())
    })
    .await;
    assert_eq!(meters.count(&outcome("bank.pay", "failed")), 0);
    worker.stop().await;
    // Another process, that parked nothing, counts what is there.
    let other = floor.worker(&["bank.pay"]).await;
    let parked = "outbox_parked_jobs handler=bank.pay";
    eventually("it is counted", async || (meters.gauge(parked) == Some(1.0)).then_some(())).await;
    let since = meters.gauge("outbox_oldest_parked_timestamp_seconds handler=bank.pay").unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((now - 600.0..now + 600.0).contains(&since), "{since}");
    assert_eq!(meters.gauge("outbox_starving_jobs"), Some(0.0));
    other.stop().await;
}

/// S2-64: what a reconciliation found is told as it was found, though it was mended at once.
#[tokio::test]
async fn drift_is_told_as_it_was_found() {
    let meters = Meters::default();
    let _recorded = meters.record();
    let sides = crate::reconcile::Sides::of([(1, 10), (2, 20)], [(2, 21), (3, 30)]);
    sides.run().repair().run().await.unwrap();
    assert_eq!(meters.gauge("outbox_drift reconciliation=tests.sides"), Some(3.0));
    for kind in ["missing", "divergent", "orphaned"] {
        assert_eq!(
            meters.count(&format!("outbox_reconciled_total kind={kind} reconciliation=tests.sides")),
            1,
            "{kind}"
        );
    }
    assert_eq!(meters.count("outbox_reconciled_total kind=repaired reconciliation=tests.sides"), 3);
    sides.run().repair().run().await.unwrap();
    assert_eq!(meters.gauge("outbox_drift reconciliation=tests.sides"), Some(0.0), "by the next run");
}
