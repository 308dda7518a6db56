//! What an operator sees and does: list the failed, run them again, end what runs.

use outbox::{JobId, OperationError};
use outbox_testing::eventually;

use crate::floor::{Do, Floor, ask, fail, wait};

/// S0-27: a failed job is listed, newest first, with its handler, event, reason, error and counters, and one handler's can be asked for.
#[tokio::test]
async fn failed_jobs_are_listed() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once", "desk.note"]).build().await.unwrap();
    let first = ask(&outbox, "a", [fail("first")]).await;
    outbox.drain().await.unwrap();
    let second = ask(&outbox, "b", [Do::Quarantine]).await;
    outbox.drain().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!(failed.len(), 3);
    assert_eq!(failed[2].event_id, Some(first), "the oldest comes last");
    let one = &outbox.failed_of("desk.once", 10).await.unwrap()[1];
    assert_eq!((one.event_id, one.handler.as_str(), one.message.as_str()), (Some(first), "desk.once", "work.asked"));
    assert_eq!((one.reason.as_str(), one.last_error.as_deref(), one.version), ("exhausted", Some("first"), 1));
    assert_eq!((one.attempts, one.max_attempts, one.crashes), (1, 1, 0));
    assert!(one.failed_at >= one.created_at);
    let quarantined = &outbox.failed_of("desk.note", 10).await.unwrap()[0];
    assert_eq!((quarantined.event_id, quarantined.reason.as_str()), (Some(second), "quarantined"));
    assert_eq!(outbox.failed(1).await.unwrap().len(), 1);
}

/// O13, S0-16: two handlers of one event both use up their attempts: two dead letters, each run again by itself.
#[tokio::test]
async fn two_handlers_of_one_event_are_redriven_apart() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note", "desk.copy"]).await;
    let event = ask(&worker.outbox, "a", [fail("1"), fail("2"), fail("3"), Do::Succeed, Do::Succeed]).await;
    let note = floor.until("desk.note", event, "failed").await;
    let copy = floor.until("desk.copy", event, "failed").await;
    worker.outbox.redrive(note.id).await.unwrap();
    let note = floor.until("desk.note", event, "succeeded").await;
    assert_eq!(note.attempts, 1, "a new life begins at nothing");
    assert_eq!(floor.history(&note).await.len(), 3, "and keeps its history");
    assert_eq!(floor.job("desk.copy", event).await.status, "failed");
    worker.outbox.redrive(copy.id).await.unwrap();
    floor.until("desk.copy", event, "succeeded").await;
    assert_eq!(floor.stage.executions("desk.copy", "a"), 4);
    worker.stop().await;
}

/// S0-27, S0-32: a redrive honours the inbox, so an effect that is there is not had again; `redrive_by_force` has it again.
#[tokio::test]
async fn only_force_repeats_an_effect() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["till.book"]).await;
    let event = ask(&worker.outbox, "a", [fail("1"), fail("2"), fail("3")]).await;
    let job = floor.until("till.book", event, "failed").await;
    // The effect came by another way, as by a replay of the event.
    let mark = format!("insert into :schema.inbox (handler, key) values ('till.book', '{}')", event.as_uuid());
    floor.sandbox.execute(&mark).await;
    worker.outbox.redrive(job.id).await.unwrap();
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.reason.as_deref(), floor.effects("a").await), (Some("duplicate"), 0));
    // A failed job whose effect is there, once more, and now by force.
    let event = ask(&worker.outbox, "b", [fail("1"), fail("2"), fail("3")]).await;
    let job = floor.until("till.book", event, "failed").await;
    let mark = format!("insert into :schema.inbox (handler, key) values ('till.book', '{}')", event.as_uuid());
    floor.sandbox.execute(&mark).await;
    worker.outbox.redrive_by_force(job.id).await.unwrap();
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.reason.as_deref(), floor.effects("b").await), (None, 1));
    worker.stop().await;
}

/// S0-5: only a failed job is run again: a finished, a waiting and an unknown one are refused by an error that names it.
#[tokio::test]
async fn what_is_not_failed_is_not_redriven() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let id = floor.job("desk.note", event).await.id;
    let refused = outbox.redrive(id).await.unwrap_err();
    assert!(
        matches!(refused, OperationError::NotFailed(job) if job == id) && refused.to_string().contains(&id.to_string())
    );
    outbox.drain().await.unwrap();
    assert!(matches!(outbox.redrive(id).await, Err(OperationError::NotFailed(_))));
    let unknown: JobId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert!(matches!(outbox.redrive_by_force(unknown).await, Err(OperationError::NotFailed(_))));
}

/// S0-27, B6: a job that is cancelled while its handler runs is failed, reason cancelled, with who and why; what the handler
/// comes to changes nothing any more, and its effect is rolled back.
#[tokio::test]
async fn a_running_job_can_be_cancelled() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note", "till.book"]).await;
    let event = ask(&worker.outbox, "a", wait("end")).await;
    floor.until_begun("desk.note", "a", 1).await;
    floor.until_begun("till.book", "a", 1).await;
    for handler in ["desk.note", "till.book"] {
        let id = floor.job(handler, event).await.id;
        worker.outbox.cancel(id, "ann: a mistake").await.unwrap();
        assert!(matches!(worker.outbox.cancel(id, "again").await, Err(OperationError::NotLive(job)) if job == id));
    }
    floor.stage.open("end");
    eventually("both handlers have ended", async || (floor.stage.running() == 0).then_some(())).await;
    worker.stop().await;
    for handler in ["desk.note", "till.book"] {
        let job = floor.job(handler, event).await;
        assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("cancelled")));
        assert_eq!(job.last_error.as_deref(), Some("ann: a mistake"));
    }
    assert_eq!(floor.effects("a").await, 0);
}

/// S0-27: a waiting job that is cancelled never runs.
#[tokio::test]
async fn a_waiting_job_can_be_cancelled() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.cancel(floor.job("desk.note", event).await.id, "ann").await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!((floor.job("desk.note", event).await.attempts, floor.stage.executions("desk.note", "a")), (0, 0));
}
