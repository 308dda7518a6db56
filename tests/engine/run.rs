//! run: what a handler is given, and what becomes of what it answers.

use outbox::prelude::*;
use outbox_testing::eventually;

use crate::floor::{Asked, Do, Explosive, Floor, Letter, Stage, Worker, ask, fail, wait};

#[subscriber(event = "work.asked", name = "clerk.full", max_attempts = 3, backoff = fixed("1ms"))]
async fn full(
    asked: Asked,
    attempt: Attempt,
    envelope: Envelope,
    key: IdempotencyKey,
    State(stage): State<Stage>,
    cancellation: Cancellation,
) -> HandlerResult {
    let Attempt(attempt) = attempt;
    stage.note(format!("attempt {attempt}"));
    stage.note(format!("envelope {} {} v{}", envelope.id, envelope.name, envelope.version));
    stage.note(format!("about {} {}", envelope.subject.kind, envelope.subject.id.unwrap_or_default()));
    stage.note(format!("by {} of {}", envelope.metadata.actor.unwrap_or_default(), asked.label));
    stage.note(format!("key {key}"));
    stage.note(format!("cancelled {}", cancellation.is_cancelled()));
    if attempt == 1 { Err("once more".into()) } else { Ok(()) }
}

#[subscriber(event = "work.asked", name = "clerk.old_name", max_attempts = 3, backoff = fixed("300ms"))]
async fn old_name(_asked: Asked, key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("key {key}"));
    Err("this version of it cannot".into())
}

#[subscriber(event = "work.asked", name = "clerk.new_name", aliases("clerk.old_name"))]
async fn new_name(_asked: Asked, key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("key {key}"));
    Ok(())
}

#[subscriber(event = "work.asked", name = "clerk.choosy", when = is_wanted)]
async fn choosy(asked: Asked, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("choosy {}", asked.label));
    Ok(())
}

fn is_wanted(asked: &Asked) -> bool {
    asked.label == "wanted"
}

#[subscriber(event = "work.*", name = "clerk.every", idempotent = "only notes what it saw")]
async fn every(envelope: Envelope, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("every {} {}", envelope.name, envelope.payload.as_json()));
    Ok(())
}

/// A handler gets what its parameters ask for: message, attempt, envelope, key, state, cancellation; the key is the
/// same at each attempt.
#[tokio::test]
async fn every_parameter_is_filled() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.full"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let asked = Asked { label: "a".into(), plan: vec![] };
    let event = outbox.publish(&mut tx, &asked).actor("ann").await.unwrap().event_id;
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until("clerk.full", event, "succeeded").await;
    worker.stop().await;
    assert_eq!(floor.stage.noted("attempt "), ["1", "2"]);
    assert_eq!(floor.stage.noted("envelope ")[0], format!("{event} work.asked v1"));
    assert_eq!(floor.stage.noted("about ")[0], "work a");
    assert_eq!(floor.stage.noted("by ")[0], "ann of a");
    assert_eq!(floor.stage.noted("cancelled "), ["false", "false"]);
    let keys = floor.stage.noted("key ");
    assert_eq!(keys[0], keys[1]);
    assert!(keys[0].contains(&event.to_string()), "{keys:?}");
}

/// The key is the same behind a rename that names the old name as an alias, and jobs stored under the old name are run.
#[tokio::test]
async fn the_key_survives_a_rename() {
    let floor = Floor::new().await;
    let before = floor.outbox(&["clerk.old_name"]).build().await.unwrap();
    let event = ask(&before, "a", []).await;
    before.drain().await.unwrap();
    assert_eq!(floor.job("clerk.old_name", event).await.attempts, 1);
    let behind = floor.outbox(&["clerk.new_name"]).build().await.unwrap();
    let worker = Worker::start(behind);
    floor.until("clerk.old_name", event, "succeeded").await;
    worker.stop().await;
    let keys = floor.stage.noted("key ");
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

/// A `when` that declines an event ends the job as succeeded, reason skipped, and the handler is not called.
#[tokio::test]
async fn a_declined_event_ends_as_skipped() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.choosy"]).build().await.unwrap();
    let (no, yes) = (ask(&outbox, "unwanted", []).await, ask(&outbox, "wanted", []).await);
    outbox.drain().await.unwrap();
    let (no, yes) = (floor.job("clerk.choosy", no).await, floor.job("clerk.choosy", yes).await);
    assert_eq!((no.status.as_str(), no.reason.as_deref()), ("succeeded", Some("skipped")));
    assert_eq!((yes.status.as_str(), yes.reason.as_deref()), ("succeeded", None));
    assert_eq!(floor.stage.noted("choosy "), ["wanted"]);
}

/// S2-27: `Failure::discard` ends the job as succeeded, reason discarded, and keeps the cause.
#[tokio::test]
async fn a_discarded_job_succeeds_with_its_cause() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Discard]).await;
    outbox.drain().await.unwrap();
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("succeeded", Some("discarded")));
    assert_eq!(job.last_error.as_deref(), Some("gone"));
}

/// S2-28: `Failure::quarantine` ends the job as failed at once, whatever attempts were left.
#[tokio::test]
async fn a_quarantined_job_fails_at_once() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Quarantine]).await;
    outbox.drain().await.unwrap();
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("failed", Some("quarantined"), 1));
    assert_eq!(job.last_error.as_deref(), Some("broken"));
}

/// `Failure::snooze` puts the job off without charging an attempt: five snoozes and three failures fit into three attempts.
#[tokio::test]
async fn a_snooze_charges_no_attempt() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let snooze = Do::Snooze(10);
    let plan = [snooze.clone(), snooze.clone(), fail("one"), snooze.clone(), snooze.clone(), fail("two"), snooze];
    let event = ask(&worker.outbox, "a", plan).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, floor.stage.executions("desk.note", "a")), (3, 8));
    let history = floor.history(&job).await;
    assert_eq!(history.len(), 2, "a snooze is no failed execution: {history:?}");
    worker.stop().await;
}

/// S0-25: `Failure::retry_after` waits as long as the handler asks, and the attempt counts.
#[tokio::test]
async fn retry_after_waits_as_long_as_it_says() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::RetryAfter(3_600_000)]).await;
    outbox.drain().await.unwrap();
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.last_error.as_deref()), ("pending", 1, Some("later")));
    let soon = "select count(*) from :schema.job_live where available_at between now() + interval '59 min' and now() + interval '60 min'";
    assert_eq!(floor.sandbox.number(soon).await, 1);
}

/// A handler that takes longer than its timeout is ended, and the attempt fails with a text that says so.
#[tokio::test]
async fn a_handler_over_its_time_is_ended() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.quick"]).await;
    let event = ask(&worker.outbox, "a", [Do::Hang, Do::Hang]).await;
    let job = floor.until("desk.quick", event, "failed").await;
    assert_eq!((job.reason.as_deref(), job.attempts), (Some("exhausted"), 2));
    assert!(job.last_error.as_deref().is_some_and(|error| error.contains("timed out after 300ms")), "{job:?}");
    assert_eq!(floor.stage.noted("ended desk.quick ").len(), 2, "both executions were dropped");
    worker.stop().await;
}

/// B15, S0-24: panics in 50 of 100 jobs, some while holding the transaction: every job ends or is retried to its end, the
/// message is stored, the effect of a panicked execution is rolled back, and every slot comes back.
#[tokio::test]
async fn panics_cost_an_attempt_and_no_slot() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once", "till.book"]).concurrency(4).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    for n in 0..100 {
        let plan = if n < 50 { vec![Do::Panic(format!("boom {n}"))] } else { vec![] };
        outbox.publish(&mut tx, &Asked { label: format!("n{n}"), plan }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    let jobs = floor.until_settled().await;
    let (once, book) = (jobs.of("desk.once"), jobs.of("till.book"));
    assert_eq!((once.succeeded(), once.failed(), book.succeeded()), (50, 50, 100));
    let told = |job: &outbox_testing::JobRow| job.last_error.as_deref().is_some_and(|e| e.contains("panicked: boom "));
    assert!(once.0.iter().filter(|job| job.status == "failed").all(told));
    assert_eq!(
        floor.sandbox.number("select count(*) from :schema.done").await,
        100,
        "one effect a job, none of a panic"
    );
    // Every slot is back: as many as there are run at once.
    for label in ["a", "b", "c", "d"] {
        ask(&worker.outbox, label, wait("end")).await;
    }
    eventually("all four slots are taken", async || (floor.stage.running() == 4).then_some(())).await;
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
}

#[subscriber(event = "work.asked", name = "clerk.explosive", max_attempts = 2, backoff = fixed("1ms"), timeout = "200ms")]
async fn explosive(asked: Asked, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("explosive {}", asked.label));
    let _explosive = Explosive;
    std::future::pending().await
}

/// A value of the handler that panics when it is dropped, because the handler is over its time, costs an attempt and no slot,
/// and the attempt has failed by its time.
#[tokio::test]
async fn a_panic_while_a_handler_is_dropped_costs_an_attempt_and_no_slot() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.explosive"]).concurrency(1).build().await.unwrap();
    let worker = Worker::start(outbox);
    for label in ["a", "b"] {
        let event = ask(&worker.outbox, label, []).await;
        let job = floor.until("clerk.explosive", event, "failed").await;
        assert_eq!((job.reason.as_deref(), job.attempts, job.crashes), (Some("exhausted"), 2, 0));
        assert!(job.last_error.as_deref().is_some_and(|error| error.contains("timed out after 200ms")), "{job:?}");
    }
    assert_eq!(floor.stage.noted("explosive "), ["a", "a", "b", "b"]);
    worker.stop().await;
}

/// A wildcard subscriber gets every event that its pattern means, undecoded, each as a job of its own.
#[tokio::test]
async fn a_wildcard_gets_every_event_of_its_pattern() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.every", "till.book"]).build().await.unwrap();
    ask(&outbox, "a", [Do::Publish("b".into())]).await;
    outbox.drain().await.unwrap();
    let seen = floor.stage.noted("every ");
    assert!(seen[0].starts_with("work.asked {") && seen[0].contains("\"a\""), "{seen:?}");
    assert!(seen[1].starts_with("work.followed {") && seen[1].contains("\"b\""), "{seen:?}");
    assert_eq!(floor.sandbox.jobs().await.of("clerk.every").succeeded(), 2);
}

/// S0-6: a `#[job]` is a command: no event, one job, run by its one handler under the job's own id.
#[tokio::test]
async fn a_command_is_run_by_its_one_handler() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.letter", "clerk.every"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let enqueued = outbox.enqueue(&mut tx, &Letter { label: "a".into() }).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    let job = jobs.only();
    assert_eq!((job.handler.as_str(), job.status.as_str(), job.event_id), ("desk.letter", "succeeded", None));
    assert_eq!(job.id, enqueued.job_id);
    assert_eq!(floor.stage.noted("letter "), [format!("{} desk.letter v1", job.id)]);
}
