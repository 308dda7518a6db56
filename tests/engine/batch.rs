//! Handlers that take a batch: many jobs in one call, settled one by one.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{BatchItem, Drained, EventId, Metadata};
use outbox_testing::{JobRow, Logs, eventually};

use crate::floor::{Asked, Do, Floor, Stage, Worker, ask, ask_many, fail, wait};
use crate::process::Process;

#[subscriber(event = "work.asked", name = "index.bulk", max_attempts = 4, backoff = fixed("100ms"), idempotent = "tests say what it does")]
async fn bulk(asked: Batch<Asked>, State(stage): State<Stage>) -> HandlerResult {
    work(&stage, "index.bulk", &asked).await
}

#[subscriber(event = "work.asked", name = "index.brief", timeout = "300ms", max_attempts = 4, backoff = fixed("100ms"), batch = 3, idempotent = "tests say what it does")]
async fn brief(asked: Batch<Asked>, State(stage): State<Stage>) -> HandlerResult {
    work(&stage, "index.brief", &asked).await
}

#[subscriber(event = "work.*", name = "index.all", when = is_wanted, idempotent = "only notes")]
async fn all(envelopes: Batch<Envelope>, State(stage): State<Stage>) -> Result<Vec<Result<(), String>>, String> {
    let each = envelopes.iter().map(|one| {
        stage.note(format!("all {} {}", one.name, one.subject.id.as_deref().unwrap_or_default()));
        if one.subject.id.as_deref() == Some("odd") { Err("refused".to_owned()) } else { Ok(()) }
    });
    Ok(each.collect())
}

fn is_wanted(envelope: &Envelope) -> bool {
    envelope.subject.id.as_deref() != Some("unwanted")
}

/// Says of each item what its plan says for this attempt, then does what is said of the whole call.
async fn work(stage: &Stage, handler: &str, asked: &[BatchItem<Asked>]) -> HandlerResult {
    let labels: Vec<_> = asked.iter().map(|item| item.label.as_str()).collect();
    stage.note(format!("{handler} {}", labels.join(" ")));
    if outbox::context() != Metadata::default() {
        stage.note("a context");
    }
    let plan = |item: &BatchItem<Asked>| item.plan.get(item.attempt() as usize - 1).cloned().unwrap_or(Do::Succeed);
    for item in asked {
        match plan(item) {
            Do::Fail(text) => item.fail(text),
            Do::Snooze(millis) => item.fail(Failure::snooze(Duration::from_millis(millis), "not now")),
            Do::Discard => item.fail(Failure::discard("gone")),
            Do::Heed(true) => item.succeed(),
            _ => {}
        }
    }
    for item in asked {
        match plan(item) {
            Do::Panic(text) => panic!("{text}"),
            Do::Hang => std::future::pending().await,
            Do::Wait(gate) => stage.opened(&gate).await,
            Do::FailAsStaged => return Err("all of it".into()),
            _ => {}
        }
    }
    stage.note(format!("ended {handler}"));
    Ok(())
}

/// The labels of each call of a handler, in order.
fn calls(floor: &Floor, handler: &str) -> Vec<Vec<String>> {
    let calls = floor.stage.noted(&format!("{handler} "));
    calls.iter().map(|call| call.split(' ').map(str::to_owned).collect()).collect()
}

/// One by one, in this order.
async fn ask_each(outbox: &Outbox, asked: &[(&str, Vec<Do>)]) -> Vec<EventId> {
    let mut events = Vec::new();
    for (label, plan) in asked {
        events.push(ask(outbox, label, plan.clone()).await);
    }
    events
}

/// What a test compares of a job.
fn came_to(job: &JobRow) -> (&str, u32, Option<&str>, Option<&str>) {
    (&job.status, job.attempts, job.reason.as_deref(), job.last_error.as_deref())
}

/// Of a hundred, two are refused: they are tried again by themselves, with their own attempts and errors, and the others are
/// done at once and for all.
#[tokio::test]
async fn the_ones_that_fail_are_repeated_alone() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let plans = [("x", vec![fail("no title")]), ("y", vec![fail("no body"), fail("still none")])];
    let refused = ask_each(&outbox, &plans).await;
    ask_many(&outbox, 98, []).await;
    let worker = Worker::start(outbox);
    let jobs = floor.until_settled().await;
    worker.stop().await;
    assert_eq!(jobs.succeeded(), 100);
    assert_eq!(jobs.0.iter().filter(|job| job.attempts == 1).count(), 98);
    let errors =
        |texts: &[&str]| texts.iter().map(|it| ("retry".to_owned(), Some((*it).to_owned()))).collect::<Vec<_>>();
    for (event, said) in refused.iter().zip([&["no title"][..], &["no body", "still none"]]) {
        let job = floor.job("index.bulk", *event).await;
        assert_eq!(job.attempts as usize, 1 + said.len());
        assert_eq!(floor.history(&job).await, errors(said));
    }
    let calls = calls(&floor, "index.bulk");
    assert_eq!(calls[0].len(), 100, "what is there is one call");
    assert!(calls[1..].iter().flatten().all(|label| label == "x" || label == "y"), "{calls:?}");
}

/// O7, B3, Q33: a payload that does not decode is quarantined alone, and the function is called with the others.
#[tokio::test]
async fn a_payload_that_does_not_decode_is_quarantined_alone() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let events = ask_each(&outbox, &[("a", vec![]), ("b", vec![]), ("c", vec![])]).await;
    let broken = format!(
        "begin; set local outbox.owner_work = 'on';
         update :schema.event set payload = '{{\"label\": \"b\", \"plan\": [7]}}' where id = '{}'; commit",
        events[1].as_uuid()
    );
    floor.sandbox.execute(&broken).await;
    assert_eq!(outbox.drain().await.unwrap(), Drained { executions: 3 });
    assert_eq!(calls(&floor, "index.bulk"), [["a", "c"]]);
    let job = floor.job("index.bulk", events[1]).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("failed", Some("quarantined"), 1));
    assert!(job.last_error.as_deref().unwrap().contains("plan[0]"), "{job:?}");
    assert_eq!(floor.sandbox.jobs().await.succeeded(), 2);
}

/// Of a call that panics, what was said of an item before counts, and all others failed with the panic's text.
#[tokio::test]
async fn what_was_said_before_a_panic_counts() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let plans = [
        ("done", vec![Do::Heed(true)]),
        ("gone", vec![Do::Discard]),
        ("open", vec![]),
        ("bad", vec![Do::Panic("ouch".into())]),
    ];
    let events = ask_each(&outbox, &plans).await;
    outbox.drain().await.unwrap();
    let jobs = [0, 1, 2, 3].map(|place| floor.job("index.bulk", events[place]));
    let [done, gone, open, bad] = jobs;
    assert_eq!(came_to(&done.await), ("succeeded", 1, None, None));
    assert_eq!(came_to(&gone.await), ("succeeded", 1, Some("discarded"), Some("gone")));
    for job in [open.await, bad.await] {
        assert_eq!(came_to(&job), ("pending", 1, None, Some("the handler panicked: ouch")));
    }
}

/// And so of one that returns an error, or is ended at its timeout.
#[tokio::test]
async fn what_was_said_before_an_error_or_the_timeout_counts() {
    for (last, error) in [(Do::FailAsStaged, "all of it"), (Do::Hang, "the handler timed out after 300ms")] {
        let floor = Floor::new().await;
        let outbox = floor.outbox(&["index.brief"]).build().await.unwrap();
        let plans = [("done", vec![Do::Heed(true)]), ("own", vec![fail("its own")]), ("last", vec![last])];
        let events = ask_each(&outbox, &plans).await;
        outbox.drain().await.unwrap();
        assert_eq!(calls(&floor, "index.brief")[0].len(), 3);
        let expected = [("succeeded", None), ("pending", Some("its own")), ("pending", Some(error))];
        for (event, (status, error)) in events.into_iter().zip(expected) {
            assert_eq!(came_to(&floor.job("index.brief", event).await), (status, 1, None, error));
        }
    }
}

/// Under a backlog the calls fill by themselves: five hundred jobs are ten calls at most, of a hundred at most.
#[tokio::test]
async fn calls_fill_under_a_backlog() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    ask_many(&outbox, 500, []).await;
    let worker = Worker::start(outbox);
    assert_eq!(floor.until_settled().await.succeeded(), 500);
    worker.stop().await;
    let calls = calls(&floor, "index.bulk");
    assert!(calls.len() <= 10 && calls.iter().all(|call| call.len() <= 100), "{calls:?}");
    assert_eq!(calls.iter().flatten().count(), 500, "each once");
}

/// They fill where nothing waits in memory too, and where a claim is smaller than a call it is the claim's size.
#[tokio::test]
async fn calls_fill_without_a_prefetch() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).prefetch(0).batch(50).concurrency(2).build().await.unwrap();
    ask_many(&outbox, 500, []).await;
    let worker = Worker::start(outbox);
    assert_eq!(floor.until_settled().await.succeeded(), 500);
    worker.stop().await;
    let calls = calls(&floor, "index.bulk");
    assert!(calls.len() <= 20 && calls.iter().all(|call| call.len() <= 50), "{calls:?}");
}

/// Nothing waits for others to come: with an hour between polls, and a call that does not end in another slot, a single job is run at once.
#[tokio::test]
async fn a_single_job_does_not_wait_for_company() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).poll_interval(Duration::from_hours(1)).build().await.unwrap();
    let worker = Worker::start(outbox);
    ask(&worker.outbox, "first", wait("end")).await;
    eventually("the first call runs", async || (calls(&floor, "index.bulk").len() == 1).then_some(())).await;
    let second = ask(&worker.outbox, "second", []).await;
    floor.until("index.bulk", second, "succeeded").await;
    assert_eq!(calls(&floor, "index.bulk"), [["first"], ["second"]]);
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
}

/// S0-29, S0-42: a call takes one slot, however many jobs it has, and one that hangs in all of its slots delays no other handler.
#[tokio::test]
async fn batches_that_hang_do_not_delay_another_handler() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk", "shelf.fill"]).concurrency(4).build().await.unwrap();
    ask_many(&outbox, 400, [Do::Hang]).await;
    floor.sandbox.execute("update :schema.job_live set attempts = 1 where job_type = 'shelf.fill'").await;
    let worker = Worker::start(outbox);
    let done = "select count(*) from :schema.job where job_type = 'shelf.fill' and status = 'succeeded'";
    floor.until_number(done, 400).await;
    let calls = calls(&floor, "index.bulk");
    assert!(calls.len() <= 3, "three quarters of four slots: {}", calls.len());
    assert!(calls.iter().flatten().count() >= calls.len() * 10, "{calls:?}");
    assert_eq!(floor.sandbox.jobs().await.of("index.bulk").live(), 400);
    worker.stop().await;
}

/// S0-30, S0-31: a worker that is killed in the middle of a batch: each of its jobs has the crash and the attempt counted and is run
/// elsewhere, by itself from now on; what an earlier call had settled is not run again.
#[tokio::test]
async fn a_batch_of_a_killed_worker_is_run_by_another() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    ask_many(&outbox, 30, []).await;
    let first = Process::start(&floor, &["index.bulk"]).await;
    floor.until_settled().await;
    let mut held: Vec<_> = (0..12).map(|n| (format!("held{n}"), vec![])).collect();
    held[11].1 = vec![Do::Hang];
    let mut tx = outbox.begin().await.unwrap();
    let asked: Vec<_> = held.into_iter().map(|(label, plan)| Asked { label, plan }).collect();
    outbox.publish_all(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
    let labels: Vec<_> = asked.iter().map(|one| one.label.as_str()).collect();
    first.until(&format!("index.bulk {}", labels.join(" "))).await;
    first.signal("KILL");
    let second = floor.worker(&["index.bulk"]).await;
    let jobs = floor.until_settled().await;
    second.stop().await;
    assert_eq!(jobs.succeeded(), 42);
    let crashed: Vec<_> = jobs.0.iter().filter(|job| job.crashes > 0).collect();
    assert_eq!(crashed.len(), 12);
    assert!(crashed.iter().all(|job| (job.attempts, job.crashes) == (2, 1)), "{crashed:#?}");
    let mut again = calls(&floor, "index.bulk");
    assert!(again.iter().all(|call| call.len() == 1), "who crashed shares no call: {again:?}");
    again.sort();
    let mut labels: Vec<_> = labels.into_iter().map(|label| vec![label.to_owned()]).collect();
    labels.sort();
    assert_eq!(again, labels, "only the interrupted ones are repeated");
}

/// S0-30: at a shutdown what was said counts, and the others are given back at once, uncharged.
#[tokio::test]
async fn a_batch_that_does_not_end_is_given_back_at_the_shutdown() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let plans = [("done", vec![Do::Heed(true)]), ("open", vec![]), ("last", vec![Do::Hang])];
    let mut tx = outbox.begin().await.unwrap();
    let asked = plans.map(|(label, plan)| Asked { label: label.to_owned(), plan });
    outbox.publish_all(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    eventually("the call runs", async || (calls(&floor, "index.bulk").len() == 1).then_some(())).await;
    worker.stop().await;
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.count("pending")), (1, 2));
    assert!(jobs.0.iter().all(|job| job.attempts == u32::from(job.status == "succeeded")), "{jobs:#?}");
}

/// A lease that is lost in the middle of a batch: its outcomes are refused, all of them, and the jobs run again under the next.
#[tokio::test]
async fn the_outcomes_of_a_batch_whose_lease_was_lost_are_refused() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["index.bulk"]).await;
    let mut tx = worker.outbox.begin().await.unwrap();
    let asked = ["a", "b", "c"].map(|label| Asked { label: label.to_owned(), plan: vec![Do::Hang] });
    worker.outbox.publish_all(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
    eventually("the call runs", async || (calls(&floor, "index.bulk").len() == 1).then_some(())).await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| (job.attempts, job.crashes) == (2, 1)), "{jobs:#?}");
    assert_eq!(floor.stage.noted("ended index.bulk").len(), 3, "the first call never ended");
    worker.stop().await;
}

/// An outcome that is snoozed or retried waits its own time, and the others do not.
#[tokio::test]
async fn each_item_waits_its_own_time() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let hour = Do::Snooze(3_600_000);
    let events = ask_each(&outbox, &[("a", vec![hour]), ("b", vec![fail("soon")]), ("c", vec![])]).await;
    let worker = Worker::start(outbox);
    floor.until("index.bulk", events[1], "succeeded").await;
    floor.until("index.bulk", events[2], "succeeded").await;
    let snoozed = floor.job("index.bulk", events[0]).await;
    assert_eq!(came_to(&snoozed), ("pending", 0, None, Some("not now")));
    worker.stop().await;
}

/// Jobs of a batch that are put off are told of in one line, with their number and that nothing is charged, and in none of level warn: where what
/// they need is away, that is all of every batch.
#[tokio::test]
async fn a_batch_that_is_put_off_is_one_line() {
    let logs = Logs::everything();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let hour = || vec![Do::Snooze(3_600_000)];
    ask_each(&outbox, &[("a", hour()), ("b", hour()), ("c", hour())]).await;
    outbox.drain().await.unwrap();
    let lines = logs.lines();
    let told: Vec<_> = lines.iter().filter(|line| line.contains("jobs of a batch are put off")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("for up to 3600") && told[0].contains("charged nothing"), "{told:?}");
    assert!(told[0].contains("jobs=3") && told[0].contains("not now"), "{told:?}");
    let warnings = Logs::warnings();
    ask_each(&outbox, &[("d", hour()), ("e", hour())]).await;
    outbox.drain().await.unwrap();
    let of_these: Vec<_> = warnings.lines().into_iter().filter(|line| line.contains("index.bulk")).collect();
    assert_eq!(of_these, Vec::<String>::new());
}

/// On a pattern, undecoded: `when` is asked for each, and a returned list has one outcome for each that is left.
#[tokio::test]
async fn a_pattern_is_taken_by_the_batch() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.all"]).build().await.unwrap();
    let asked = [("a", vec![]), ("unwanted", vec![]), ("odd", vec![]), ("b", vec![])];
    let events = ask_each(&outbox, &asked).await;
    assert_eq!(outbox.drain().await.unwrap(), Drained { executions: 4 });
    assert_eq!(floor.stage.noted("all "), ["work.asked a", "work.asked odd", "work.asked b"]);
    let expected = [
        ("succeeded", 1, None, None),
        ("succeeded", 1, Some("skipped"), None),
        ("pending", 1, None, Some("refused")),
        ("succeeded", 1, None, None),
    ];
    for (event, expected) in events.into_iter().zip(expected) {
        assert_eq!(came_to(&floor.job("index.all", event).await), expected);
    }
}

/// What a batch publishes has no cause but the one that it names: which of many it would be, nobody can tell.
#[tokio::test]
async fn a_batch_has_no_context_of_one_of_its_messages() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["index.bulk"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let asked = Asked { label: "a".to_owned(), plan: vec![] };
    outbox.publish(&mut tx, &asked).actor("ann").await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!((calls(&floor, "index.bulk").len(), floor.stage.noted("a context").len()), (1, 0));
}
