//! Outcomes that nobody knows: not tried again, listed, and moved only by the answer of the effect's owner.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use outbox::{Answer, BoxError, DeadLetter, EffectOwner, EventId, OperationError, Reason};
use outbox_testing::{JobRow, Logs};

use crate::floor::{Asked, Do, Floor, Letter, ask, fail};

/// A parked job of `handler` for the event `label`, whose first execution does this.
pub async fn park(floor: &Floor, handler: &str, label: &str, first: Do) -> (EventId, JobRow) {
    let outbox = floor.outbox(&[handler]).build().await.unwrap();
    let event = ask(&outbox, label, [first]).await;
    outbox.drain().await.unwrap();
    let job = floor.job(handler, event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("failed", Some("unknown"), 1), "{job:?}");
    assert_eq!(floor.stage.executions(handler, label), 1);
    (event, job)
}

/// S2-72: a handler that does not know whether it had its effect says so, through `?` and a box: its job is parked though it has attempts left, and is
/// listed with what its owner is asked by: key, message, and why.
#[tokio::test]
async fn a_handler_that_does_not_know_is_not_tried_again() {
    let floor = Floor::new().await;
    let (event, job) = park(&floor, "desk.note", "a", Do::Unknown(None)).await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.executions("desk.note", "a"), 1);
    let [letter] = <[DeadLetter; 1]>::try_from(outbox.parked().list(10).await.unwrap()).unwrap();
    assert_eq!((letter.job.id, letter.job.event_id, letter.job.reason.as_str()), (job.id, Some(event), "unknown"));
    assert_eq!(letter.job.last_error.as_deref(), Some("no answer from the bank"));
    assert_eq!(letter.key.as_str(), format!("{event}:desk.note"));
    assert_eq!(letter.envelope.decode::<Asked>().unwrap().label, "a");
    assert!(outbox.parked().of("desk.copy").list(10).await.unwrap().is_empty());
    assert!(outbox.parked().parked_for(Duration::from_hours(1)).list(10).await.unwrap().is_empty());
}

/// S2-72: the owner says that it took effect: the job has succeeded without another call, and a replay of its event passes it over.
#[tokio::test]
async fn an_effect_that_took_place_is_not_had_again() {
    let floor = Floor::new().await;
    let (event, job) = park(&floor, "bank.pay", "a", Do::Unknown(None)).await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    outbox.parked().resolve(job.id, Answer::TookEffect).await.unwrap();
    let job = floor.job("bank.pay", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("succeeded", Some("confirmed")));
    let replayed = outbox.replay("bank.pay").run().await.unwrap();
    assert_eq!((replayed.done, replayed.enqueued), (1, 0));
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.executions("bank.pay", "a"), 1);
    assert!(outbox.parked().list(10).await.unwrap().is_empty());
}

/// S2-72: the owner says that it did not take effect: the job is due at once, begins a new life, and is run.
#[tokio::test]
async fn an_effect_that_did_not_take_place_is_tried_again() {
    let floor = Floor::new().await;
    let (event, job) = park(&floor, "bank.pay", "a", Do::Unknown(None)).await;
    let worker = floor.worker(&["bank.pay"]).await;
    worker.outbox.parked().resolve(job.id, Answer::DidNot).await.unwrap();
    let job = floor.until("bank.pay", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("bank.pay", "a")), (1, 0, 2));
    worker.stop().await;
}

/// S2-72: a timeout is no retry where the handler says `unknown = park`, nor is a panic; what the handler itself returns is what it says.
#[tokio::test]
async fn a_call_that_was_broken_off_is_parked() {
    let floor = Floor::new().await;
    let (_, late) = park(&floor, "bank.hasten", "late", Do::Hang).await;
    assert_eq!(late.last_error.as_deref(), Some("the handler timed out after 300ms"));
    let (_, panicked) = park(&floor, "bank.pay", "panicked", Do::Panic("at the bank".into())).await;
    assert_eq!(panicked.last_error.as_deref(), Some("the handler panicked: at the bank"));
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let event = ask(&outbox, "refused", [fail("the card was refused")]).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("bank.pay", event).await.status, "pending");
}

/// S2-72: nor is a worker that shuts down and does not wait: what still runs at the end of its budget is parked, not given back.
#[tokio::test]
async fn what_a_shutdown_breaks_off_is_parked() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["bank.pay", "desk.note"]).await;
    let event = ask(&worker.outbox, "a", [Do::Hang]).await;
    floor.until_begun("bank.pay", "a", 1).await;
    floor.until_begun("desk.note", "a", 1).await;
    worker.stop().await;
    let (pay, note) = (floor.job("bank.pay", event).await, floor.job("desk.note", event).await);
    assert_eq!((pay.status.as_str(), pay.reason.as_deref()), ("failed", Some("unknown")), "{pay:?}");
    assert_eq!(pay.last_error.as_deref(), Some("its worker ended while the handler ran"));
    assert_eq!((note.status.as_str(), note.attempts), ("pending", 0), "any other is given back: {note:?}");
}

/// S2-72: a handler that does not know is taken at its word during a shutdown too, where any other error gives the job back.
#[tokio::test]
async fn an_unknown_outcome_during_a_shutdown_is_parked() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).shutdown_budget(Duration::from_secs(20)).build().await.unwrap();
    let mut worker = crate::floor::Worker::start(outbox);
    let event = ask(&worker.outbox, "a", [Do::Unknown(Some("end".into()))]).await;
    floor.until_begun("desk.note", "a", 1).await;
    worker.ask_to_stop();
    outbox_testing::eventually("it is stopping", async || {
        (worker.outbox.health().stage == outbox::health::Stage::Stopping).then_some(())
    })
    .await;
    floor.stage.open("end");
    worker.stop().await;
    assert_eq!(floor.job("desk.note", event).await.reason.as_deref(), Some("unknown"));
}

/// S2-72: a job that a process of an earlier release took back from a dead worker, as it takes any, is parked by whoever claims it.
#[tokio::test]
async fn a_job_that_was_taken_back_is_not_begun() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay", "desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    floor.sandbox.execute("update :schema.job_live set crashes = 1, attempts = 1").await;
    outbox.drain().await.unwrap();
    let (pay, note) = (floor.job("bank.pay", event).await, floor.job("desk.note", event).await);
    assert_eq!((pay.status.as_str(), pay.reason.as_deref()), ("failed", Some("unknown")), "{pay:?}");
    assert_eq!((floor.stage.executions("bank.pay", "a"), note.status.as_str()), (0, "succeeded"));
}

/// S2-72: nor is one begun again that such a process ended as crashed, or gave back to be cancelled: a redrive, by force too, leaves it to the owner of its
/// effect. Whose handler does not park, begins anew.
#[tokio::test]
async fn a_crash_outlives_a_redrive() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay", "desk.note"]).build().await.unwrap();
    let (crashed, cancelled) = (ask(&outbox, "crashed", []).await, ask(&outbox, "cancelled", []).await);
    floor.sandbox.execute("update :schema.job_live set crashes = 1, attempts = 1").await;
    for (handler, event) in [("bank.pay", crashed), ("desk.note", crashed), ("bank.pay", cancelled)] {
        outbox.cancel(floor.job(handler, event).await.id, "ann").await.unwrap();
    }
    let ended = "do $$ begin perform set_config('outbox.owner_work', 'on', true);
                 update :schema.job_failed set reason = 'crashed' where event_id = ";
    floor.sandbox.execute(&format!("{ended} '{}'; end $$", crashed.as_uuid())).await;
    outbox.dead_letters().redrive().await.unwrap();
    outbox.drain().await.unwrap();
    for event in [crashed, cancelled] {
        let job = floor.job("bank.pay", event).await;
        assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("unknown")), "{job:?}");
    }
    assert_eq!(floor.stage.executions("bank.pay", "crashed") + floor.stage.executions("bank.pay", "cancelled"), 0);
    let note = floor.job("desk.note", crashed).await;
    assert_eq!((note.status.as_str(), note.crashes), ("succeeded", 0), "{note:?}");
    outbox.parked().resolve(floor.job("bank.pay", crashed).await.id, Answer::DidNot).await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(
        (floor.job("bank.pay", crashed).await.status, floor.stage.executions("bank.pay", "crashed")),
        ("succeeded".to_owned(), 1)
    );
}

/// S2-72: the log says that a job is parked, and what is to be done, not that it failed.
#[tokio::test]
async fn the_log_says_parked_and_what_to_do() {
    let logs = Logs::warnings();
    let floor = Floor::new().await;
    park(&floor, "desk.note", "unknown", Do::Unknown(None)).await;
    park(&floor, "bank.hasten", "late", Do::Hang).await;
    let lines = logs.lines();
    let parked: Vec<_> = lines.iter().filter(|line| line.contains("the job is parked")).collect();
    assert_eq!(parked.len(), 2, "{lines:?}");
    assert!(parked.iter().all(|line| line.contains("`outbox.parked().resolve(job, ..)`")), "{parked:?}");
    assert!(!lines.iter().any(|line| line.contains("failed, reason unknown")), "{lines:?}");
}

/// S2-72: where its event has a live job of the handler already, a job that did not take effect stays parked, and the answer
/// that could not be taken says why: a second one would have the effect twice. Behind that job, the same answer is taken.
#[tokio::test]
async fn an_answer_beside_a_live_job_says_what_it_waits_for() {
    let floor = Floor::new().await;
    let (event, parked) = park(&floor, "bank.pay", "a", Do::Unknown(None)).await;
    let live = format!(
        "insert into :schema.job_live (id, event_id, job_type, max_attempts, available_at)
         values (gen_random_uuid(), '{}', 'bank.pay', 1, now() + interval '1 day')",
        event.as_uuid()
    );
    floor.sandbox.execute(&live).await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let refused = outbox.parked().resolve(parked.id, Answer::DidNot).await.unwrap_err();
    assert!(matches!(refused, OperationError::AnotherIsLive(job) if job == parked.id), "{refused}");
    assert!(refused.to_string().contains("another job of its event and handler is live"), "{refused}");
    let key = outbox.parked().list(1).await.unwrap()[0].key.to_string();
    let ledger = Ledger { knows: [(key, Ok(Some(Answer::DidNot)))].into(), ..Ledger::default() };
    let asked = outbox.parked().parked_for(Duration::ZERO).ask(&ledger).await.unwrap();
    assert_eq!((asked.open, asked.did_not), (1, 0), "it is counted as one that stays: {asked}");
    floor.sandbox.execute("delete from :schema.job_live").await;
    outbox.parked().resolve(parked.id, Answer::DidNot).await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.of("bank.pay").count("pending"), 1);
}

/// S2-72: nothing but an answer moves a parked job: no redrive, by force neither, no retention however old it is. What is not parked has
/// no answer, and an answer is given once, whoever gives it at the same time.
#[tokio::test]
async fn only_an_answer_moves_it_and_only_once() {
    let floor = Floor::new().await;
    let (_, parked) = park(&floor, "bank.pay", "a", Do::Unknown(None)).await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    let event = ask(&outbox, "b", [fail("no")]).await;
    outbox.drain().await.unwrap();
    let failed = floor.job("desk.once", event).await;
    let refused = outbox.redrive(parked.id).await.unwrap_err();
    assert!(refused.to_string().contains("outbox.parked()"), "{refused}");
    assert!(matches!(outbox.redrive_by_force(parked.id).await, Err(OperationError::Parked(_))));
    let refused = outbox.parked().resolve(failed.id, Answer::TookEffect).await.unwrap_err();
    assert!(matches!(refused, OperationError::NotParked(job) if job == failed.id), "{refused}");

    let aged = "do $$ begin perform set_config('outbox.owner_work', 'on', true);
                update :schema.job_failed set completed_at = now() - interval '2 years'; end $$";
    floor.sandbox.execute(aged).await;
    let gone = "select (:schema.prune_failed(interval '30 days')).gone::bigint";
    assert_eq!(floor.sandbox.number(gone).await, 1, "only the other one");

    let parking = outbox.parked();
    let (one, other) =
        tokio::join!(parking.resolve(parked.id, Answer::TookEffect), parking.resolve(parked.id, Answer::DidNot));
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
}

/// S2-72: an operator's cancel of one that runs does not stop the call, so the job is parked: it cannot be redriven as what was cancelled before
/// it ran.
#[tokio::test]
async fn a_cancelled_call_is_parked_too() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["bank.pay", "desk.note"]).await;
    let event = ask(&worker.outbox, "a", crate::floor::wait("end")).await;
    floor.until_begun("bank.pay", "a", 1).await;
    floor.until_begun("desk.note", "a", 1).await;
    let (pay, note) = (floor.job("bank.pay", event).await, floor.job("desk.note", event).await);
    for job in [pay.id, note.id] {
        worker.outbox.cancel(job, "ann: a mistake").await.unwrap();
    }
    let reason = async |handler| floor.job(handler, event).await.reason;
    assert_eq!(reason("bank.pay").await.as_deref(), Some("unknown"));
    assert_eq!(reason("desk.note").await.as_deref(), Some("cancelled"));
    floor.stage.open("end");
    worker.stop().await;
    assert_eq!(reason("bank.pay").await.as_deref(), Some("unknown"));
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let waiting = ask(&outbox, "b", []).await;
    outbox.cancel(floor.job("bank.pay", waiting).await.id, "ann").await.unwrap();
    assert_eq!(floor.job("bank.pay", waiting).await.reason.as_deref(), Some("cancelled"), "nobody had called");
}

/// A ledger that knows some of the effects, by their keys.
#[derive(Default)]
struct Ledger {
    knows: BTreeMap<String, Result<Option<Answer>, String>>,
    asked: Mutex<Vec<String>>,
}

impl EffectOwner for Ledger {
    async fn ask(&self, job: &DeadLetter) -> Result<Option<Answer>, BoxError> {
        self.asked.lock().unwrap().push(job.key.to_string());
        self.knows[job.key.as_str()].clone().map_err(BoxError::from)
    }
}

/// S2-72: the owner is asked by machine, about each by its key, oldest first, and its answers are acted by; what it cannot say, or refuses,
/// stays parked for the next run.
#[tokio::test]
async fn an_owner_is_asked_by_machine() {
    let floor = Floor::new().await;
    let answers =
        [Ok(Some(Answer::TookEffect)), Ok(Some(Answer::DidNot)), Ok(None), Err("the ledger is closed".to_owned())];
    let (mut ledger, mut keys, mut events) = (Ledger::default(), Vec::new(), Vec::new());
    for (n, answer) in answers.into_iter().enumerate() {
        let (event, _) = park(&floor, "bank.pay", &format!("n{n}"), Do::Unknown(None)).await;
        let key = format!("{event}:bank.transfer");
        ledger.knows.insert(key.clone(), answer);
        keys.push(key);
        events.push(event);
    }
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let none = outbox.parked().ask(&ledger).await.unwrap();
    assert_eq!(none, outbox::Asked::default(), "one that was only frozen may still be calling");
    let asked = outbox.parked().of("bank.pay").parked_for(Duration::ZERO).ask(&ledger).await.unwrap();
    assert_eq!((asked.took_effect, asked.did_not, asked.open, asked.failed), (1, 1, 1, 1), "{asked}");
    assert_eq!(*ledger.asked.lock().unwrap(), keys, "by the name that it had first");
    outbox.drain().await.unwrap();
    let mut stands = Vec::new();
    for event in &events {
        let job = floor.job("bank.pay", *event).await;
        stands.push((job.status, job.reason));
    }
    let unknown = ("failed".to_owned(), Some("unknown".to_owned()));
    assert_eq!(stands[0], ("succeeded".to_owned(), Some("confirmed".to_owned())));
    assert_eq!(stands[1..], [("succeeded".to_owned(), None), unknown.clone(), unknown]);
    assert_eq!(floor.stage.executions("bank.pay", "n0"), 1);
    assert_eq!(floor.stage.executions("bank.pay", "n1"), 2);
}

/// S2-72: an owner that is away is not asked about everything: behind five questions in vain the run ends and says so.
#[tokio::test]
async fn an_owner_that_is_away_is_left_alone() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let mut ledger = Ledger::default();
    for n in 0..8 {
        let event = ask(&outbox, &format!("n{n}"), [Do::Unknown(None)]).await;
        ledger.knows.insert(format!("{event}:bank.transfer"), Err("away".to_owned()));
    }
    outbox.drain().await.unwrap();
    let asked = outbox.parked().parked_for(Duration::ZERO).ask(&ledger).await.unwrap();
    assert_eq!((asked.failed, asked.ended_early, ledger.asked.lock().unwrap().len()), (5, true, 5));
    assert_eq!(outbox.parked().list(10).await.unwrap().len(), 8);
}

/// A time that no calendar of a client holds keeps nobody from what is parked, nor from what failed.
#[tokio::test]
async fn a_time_beyond_the_calendar_hides_nothing() {
    let floor = Floor::new().await;
    let (_, job) = park(&floor, "bank.pay", "a", Do::Unknown(None)).await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    for time in ["infinity", "-infinity", "290000-01-01", "4000-01-01 BC"] {
        let odd = format!(
            "set session_replication_role = replica; update :schema.event set occurred_at = '{time}';
             update :schema.job_failed set created_at = '{time}'; set session_replication_role = default"
        );
        floor.sandbox.execute(&odd).await;
        assert_eq!(outbox.parked().list(10).await.unwrap().len(), 1, "{time}");
        assert_eq!(outbox.dead_letters().list().await.unwrap()[0].id, job.id, "{time}");
        assert!(outbox.dead_letters().inspect(job.id).await.unwrap().is_some(), "{time}");
        assert_eq!(outbox.failed(10).await.unwrap()[0].id, job.id, "{time}");
    }
}

/// S2-72: a few about which no question comes to anything keep the others only from that run: the next one begins behind them, and asks about them again when
/// it has come round.
#[tokio::test]
async fn those_that_are_never_answered_keep_nobody_waiting() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let mut ledger = Ledger::default();
    for n in 0..8 {
        let (event, _) = park(&floor, "bank.pay", &format!("n{n}"), Do::Unknown(None)).await;
        let answer =
            if n < 5 { Err("its contract is not to be found".to_owned()) } else { Ok(Some(Answer::TookEffect)) };
        ledger.knows.insert(format!("{event}:bank.transfer"), answer);
    }
    let parked = outbox.parked().parked_for(Duration::ZERO);
    let mut runs = Vec::new();
    for _ in 0..3 {
        let asked = parked.ask(&ledger).await.unwrap();
        runs.push((asked.failed, asked.took_effect, asked.ended_early));
    }
    assert_eq!(runs, [(5, 0, true), (0, 3, false), (5, 0, true)]);
}

/// S2-72: a command is parked, asked about by its own id, and answered as any.
#[tokio::test]
async fn a_command_is_asked_about_by_its_own_id() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.letter"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let id = outbox.enqueue(&mut tx, &Letter { label: "unknown".into() }).await.unwrap().job_id;
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let [letter] = <[DeadLetter; 1]>::try_from(outbox.parked().list(10).await.unwrap()).unwrap();
    assert_eq!(
        (letter.job.id, letter.job.event_id, letter.key.as_str()),
        (id, None, format!("{id}:desk.letter").as_str())
    );
    assert_eq!(letter.envelope.decode::<Letter>().unwrap().label, "unknown");
    assert_eq!(outbox.dead_letters().reason(Reason::Unknown).list().await.unwrap().len(), 1);
    outbox.parked().resolve(id, Answer::TookEffect).await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.only().reason.as_deref(), Some("confirmed"));
}
