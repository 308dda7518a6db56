//! Dead letters: chosen by what they have in common, inspected, redriven in bulk with the result of each.

use outbox::{EventId, OperationError, Outbox, Reason, Redriven};
use outbox_testing::eventually;
use sqlx::types::chrono::{DateTime, Utc};

use crate::floor::{Asked, Do, Floor, Letter, ask, ask_many, fail};

/// A dead letter of `desk.once` for `label`, for this reason.
async fn dead(outbox: &Outbox, label: &str, first: Do) -> EventId {
    let event = ask(outbox, label, [first]).await;
    outbox.drain().await.unwrap();
    event
}

async fn now(floor: &Floor) -> DateTime<Utc> {
    sqlx::query_scalar("select clock_timestamp()").fetch_one(floor.sandbox.pool()).await.unwrap()
}

/// S2-33: dead letters are found by handler, event, reason, subject, time and id, alone and together, those that failed first first.
#[tokio::test]
async fn dead_letters_are_chosen_by_what_they_have_in_common() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once", "desk.single", "desk.letter"]).build().await.unwrap();
    let first = dead(&outbox, "a", fail("no")).await;
    let between = now(&floor).await;
    let second = dead(&outbox, "b", Do::Quarantine).await;
    let mut tx = outbox.begin().await.unwrap();
    let letter = outbox.enqueue(&mut tx, &Letter { label: "unknown".into() }).await.unwrap().job_id;
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();

    let letters = || outbox.dead_letters();
    let all = letters().list().await.unwrap();
    let events: Vec<_> = all.iter().map(|job| job.event_id).collect();
    assert_eq!(events, [Some(first), Some(first), Some(second), Some(second), None]);
    let chosen = [
        (letters().handler("desk.once"), 2),
        (letters().event("work.asked"), 4),
        (letters().event("work.*"), 4),
        (letters().event("*"), 5),
        (letters().event("desk.letter"), 1),
        (letters().event("work.followed"), 0),
        (letters().reason(Reason::Exhausted), 2),
        (letters().reason(Reason::Quarantined), 2),
        (letters().reason(Reason::Unknown), 1),
        (letters().subject("work", "a"), 2),
        (letters().subject("order", "a"), 0),
        (letters().from(between), 3),
        (letters().until(between), 2),
        (letters().ids([letter, all[0].id]), 2),
        (letters().handler("desk.single").subject("work", "b").reason(Reason::Quarantined).from(between), 1),
        (letters().handler("desk.single").subject("work", "b").until(between), 0),
        (letters().most(3), 3),
        (letters().most(0), 0),
    ];
    for (choice, expected) in chosen {
        let found = choice.list().await.unwrap();
        assert_eq!(found.len(), expected, "{choice:?}");
        let dry = choice.dry_run().await.unwrap();
        let dry: Vec<_> = dry.jobs.iter().map(|job| job.job).collect();
        assert_eq!(
            dry,
            found.iter().map(|job| job.id).collect::<Vec<_>>(),
            "a dry run means the same ones: {choice:?}"
        );
    }
    assert!(matches!(letters().event("Work").list().await, Err(OperationError::NoEvent(_))));
    assert_eq!(outbox.drain().await.unwrap().executions, 0, "and nothing was redriven");
}

/// S2-33: one of them is inspected: its message undecoded, its key, and each failed execution with its error.
#[tokio::test]
async fn one_is_inspected_with_its_message_and_its_executions() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let event = ask(&worker.outbox, "a", [fail("first"), fail("second"), fail("third")]).await;
    let job = floor.until("desk.note", event, "failed").await;
    let (letter, executions) = worker.outbox.dead_letters().inspect(job.id).await.unwrap().unwrap();
    assert_eq!((letter.job.id, letter.job.reason.as_str()), (job.id, "exhausted"));
    assert_eq!(letter.envelope.decode::<Asked>().unwrap().label, "a");
    assert_eq!(letter.key.as_str(), format!("{event}:desk.note"));
    let told: Vec<_> = executions.iter().map(|one| (one.attempt, one.outcome.as_str(), one.error.as_deref())).collect();
    assert_eq!(told, [(1, "retry", Some("first")), (2, "retry", Some("second")), (3, "failed", Some("third"))]);
    assert!(executions.iter().all(|one| one.started_at <= one.ended_at));
    worker.outbox.redrive(job.id).await.unwrap();
    assert!(worker.outbox.dead_letters().inspect(job.id).await.unwrap().is_none(), "it is no dead letter any more");
    worker.stop().await;
}

/// S2-33: all that are meant are redriven, in more than one batch, and each has its result; others are left alone, and a dry run said it before.
#[tokio::test]
async fn all_that_are_meant_are_redriven_with_the_result_of_each() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once", "desk.single"]).build().await.unwrap();
    ask_many(&outbox, 250, [fail("no")]).await;
    outbox.drain().await.unwrap();
    let letters = outbox.dead_letters().handler("desk.once").event("work.asked");
    let dry = letters.dry_run().await.unwrap();
    assert_eq!((dry.jobs.len(), dry.count(&Redriven::Yes), dry.more), (250, 250, false));
    assert_eq!(dry.to_string(), "work.asked -> desk.once: 250 redriven\n");
    assert_eq!(floor.sandbox.jobs().await.count("failed"), 500);
    let part = letters.clone().most(120).redrive().await.unwrap();
    assert_eq!((part.jobs.len(), part.count(&Redriven::Yes), part.more), (120, 120, true));
    let rest = letters.redrive().await.unwrap();
    assert_eq!((rest.jobs.len(), rest.count(&Redriven::Yes), rest.more), (130, 130, false));
    assert!(rest.jobs.iter().all(|job| job.handler == "desk.once" && job.message == "work.asked"));
    // The second execution of each succeeds.
    outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.of("desk.once").succeeded(), jobs.of("desk.single").count("failed")), (250, 250));
}

/// S2-33: what cannot be redriven says why, and keeps no other: a parked one waits for its owner, one whose event has a live job of the handler for that, one
/// that somebody else took is gone.
#[tokio::test]
async fn what_is_not_redriven_says_why() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    let parked = dead(&outbox, "parked", Do::Unknown(None)).await;
    let doubled = dead(&outbox, "doubled", fail("no")).await;
    let other = dead(&outbox, "other", fail("no")).await;
    let live = format!(
        "insert into :schema.job_live (id, event_id, job_type, max_attempts) values (gen_random_uuid(), '{}', 'desk.once', 1)",
        doubled.as_uuid()
    );
    let ids: Vec<_> =
        outbox.dead_letters().list().await.unwrap().iter().map(|job| (job.event_id.unwrap(), job.id)).collect();
    floor.sandbox.execute(&live).await;
    for (run, expected) in [(false, Redriven::Yes), (true, Redriven::Yes), (true, Redriven::Gone)] {
        let letters = outbox.dead_letters().by_force();
        let report = if run { letters.redrive().await } else { letters.dry_run().await }.unwrap();
        let of = |event| {
            report.jobs.iter().find(|job| Some(job.job) == ids.iter().find(|(id, _)| *id == event).map(|one| one.1))
        };
        assert_eq!(of(parked).unwrap().result, Redriven::Parked);
        assert_eq!(of(doubled).unwrap().result, Redriven::Live);
        match of(other) {
            Some(other) => assert_eq!(other.result, expected),
            None => assert_eq!(expected, Redriven::Gone, "it is not among them any more"),
        }
    }
}

/// S2-33: of two failed jobs of one event and handler the first is redriven, and the second says that the first is live now; a dry run says so
/// before. Alone, it says the same, and so it does not when there is none.
#[tokio::test]
async fn the_second_failed_job_of_an_event_meets_the_first() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    let event = dead(&outbox, "a", fail("no")).await;
    let another = "insert into :schema.job_failed (id, event_id, completed_at, max_attempts, attempts, status, job_type, reason)
                   select gen_random_uuid(), event_id, completed_at + interval '1 ms', 1, 1, 'failed', job_type, reason from :schema.job_failed";
    floor.sandbox.execute(another).await;
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!(failed.iter().map(|job| job.event_id).collect::<Vec<_>>(), [Some(event); 2]);
    let letters = outbox.dead_letters();
    for report in [letters.dry_run().await.unwrap(), letters.redrive().await.unwrap()] {
        let results: Vec<_> = report.jobs.iter().map(|job| &job.result).collect();
        assert_eq!(results, [&Redriven::Yes, &Redriven::Live], "{report}");
    }
    let second = outbox.failed(10).await.unwrap()[0].id;
    let refused = outbox.redrive(second).await.unwrap_err();
    assert!(matches!(refused, OperationError::AnotherIsLive(job) if job == second), "{refused}");
    outbox.drain().await.unwrap();
    outbox.redrive(second).await.unwrap();
}

/// S2-33: a row that the database refuses to let go of is told of by itself, and the others of its batch are redriven.
#[tokio::test]
async fn one_that_is_refused_keeps_no_other() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    for label in ["a", "b", "c"] {
        dead(&outbox, label, fail("no")).await;
    }
    let odd = outbox.dead_letters().list().await.unwrap()[1].id;
    let refusal = format!(
        "create function :schema.refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
         create trigger refuse before insert on :schema.job_live for each row when (new.id = '{}') execute function :schema.refuse()",
        odd.as_uuid()
    );
    floor.sandbox.execute(&refusal).await;
    let report = outbox.dead_letters().redrive().await.unwrap();
    let results: Vec<_> = report.jobs.iter().map(|job| &job.result).collect();
    assert_eq!((results[0], results[2]), (&Redriven::Yes, &Redriven::Yes));
    assert!(matches!(results[1], Redriven::Refused(why) if why.contains("not this one")), "{results:?}");
    assert_eq!(floor.sandbox.jobs().await.count("failed"), 1, "and it is still there");
}

/// S2-33: what fails again while the others are redriven is not taken up again by the same run.
#[tokio::test]
async fn what_fails_again_meanwhile_is_left_for_another_run() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.once"]).await;
    let plan: Vec<_> = (0..400).map(|_| fail("no")).collect();
    ask_many(&worker.outbox, 150, plan).await;
    eventually("all have failed", async || (floor.sandbox.jobs().await.count("failed") == 150).then_some(())).await;
    let report = worker.outbox.dead_letters().redrive().await.unwrap();
    assert_eq!((report.jobs.len(), report.count(&Redriven::Yes)), (150, 150));
    worker.stop().await;
}
