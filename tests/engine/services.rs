//! The services of a worker: none of them ends unnoticed.

use std::sync::atomic::{AtomicBool, Ordering};

use outbox_testing::{Logs, eventually};

use crate::floor::{Floor, Worker, ask, living_workers};
use crate::proxy;
use crate::support::{NOBODY_LISTENS, skipped_behind_a_pooler};

/// A log that panics, once, when it is told that this service met an error.
fn panicking_log(service: &'static str) -> Logs {
    let (field, spent) = (format!("service={service:?}"), AtomicBool::new(false));
    Logs::heard_by("outbox", move |line| {
        let is_meant = line.contains(&field);
        assert!(!is_meant || spent.swap(true, Ordering::SeqCst), "the log panics in the service {service}");
    })
}

/// S1-22: a worker meets an error in a service, and what it says of it panics: the worker begins again under a new id, and runs what
/// comes.
async fn panics_in(service: &'static str, application: &str) {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let handlers = ["desk.note", "night.scan"];
    let worker = Worker::start(floor.outbox_on(proxy::pool(&proxy), &handlers).build().await.unwrap());
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&elsewhere, "before", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let before = living_workers(&floor).await;
    let _log = panicking_log(service);
    // Until the service has a connection that can be cut.
    eventually("it goes on under a new id", async || {
        proxy.of(application).cut();
        ask(&elsewhere, "meanwhile", []).await;
        living_workers(&floor).await.iter().any(|id| !before.contains(id)).then_some(())
    })
    .await;
    let event = ask(&elsewhere, "after", []).await;
    floor.until("desk.note", event, "succeeded").await;
    floor.until_settled().await;
    assert!(!worker.has_ended());
    worker.stop().await;
}

/// S2-16, S1-22: a panic in the claims does not leave a worker that renews its lease and claims nothing any more.
#[tokio::test]
async fn a_panic_in_the_claims_does_not_stop_the_worker() {
    panics_in("claim", "outbox claim").await;
}

/// A panic in the writer of outcomes does not leave a worker whose jobs run and never end.
#[tokio::test]
async fn a_panic_in_the_settles_does_not_stop_the_worker() {
    panics_in("settle", "outbox settle").await;
}

/// A panic in the upkeep does not leave a worker that rescues nobody any more.
#[tokio::test]
async fn a_panic_in_the_upkeep_does_not_stop_the_worker() {
    panics_in("upkeep", "outbox upkeep").await;
}

/// A panic in the scheduler does not leave a worker that takes no tick any more.
#[tokio::test]
async fn a_panic_in_the_scheduler_does_not_stop_the_worker() {
    panics_in("schedule", "outbox schedule").await;
}

/// A panic in the listener does not leave a worker that hears nothing any more.
#[tokio::test]
async fn a_panic_in_the_listener_does_not_stop_the_worker() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    panics_in("listen", "outbox listen").await;
}

/// O7: a time that no calendar of a client holds is that row's matter: the worker goes on with the others, under the id that it
/// had, and the job of that row ends too.
#[tokio::test]
async fn a_time_beyond_the_calendar_does_not_stop_the_worker() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let event = ask(&worker.outbox, "before", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let before = living_workers(&floor).await;
    for time in ["infinity", "-infinity", "290000-01-01", "4000-01-01 BC"] {
        let text = format!(
            "with e as (
               insert into :schema.event (id, event_version, event_type, subject_type, payload, occurred_at)
               values (gen_random_uuid(), 1, 'work.asked', 'work', '{{\"label\": \"odd\", \"plan\": []}}', '{time}') returning id)
             insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts)
             select gen_random_uuid(), id, 'desk.note', 1, 3 from e"
        );
        floor.sandbox.execute(&text).await;
        let event = ask(&worker.outbox, "beside", []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.len(), 9);
    assert_eq!(living_workers(&floor).await, before);
    worker.stop().await;
}
