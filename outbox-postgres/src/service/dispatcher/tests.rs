use outbox_core::slots::Limit;
use outbox_core::transition::{Counts, risk};
use outbox_core::{Envelope, EventId, Guard, JobId, Metadata, Outcome, Payload, Place, Settings, Source, Subject};
use outbox_core::{SubscriberDescriptor, Versions};

use super::*;

const fn handler(name: &'static str) -> SubscriberDescriptor {
    SubscriberDescriptor {
        name,
        aliases: &[],
        source: Source::Event("order.placed"),
        in_transaction: false,
        versions: Versions::Only(&[1]),
        guard: Guard::None,
        idempotent: Some("does nothing"),
        settings: Settings::DEFAULT,
        requires: |_| {},
        call: |_| Box::pin(async { Outcome::Done }),
        place: Place { package: "test", module_path: "test", file: "test.rs", line: 1 },
    }
}

static SLOW: SubscriberDescriptor = handler("a.slow");
static QUICK: SubscriberDescriptor = handler("b.quick");

/// Four slots, of which each handler may take three; prefetch 10, batches of 10.
fn dispatcher() -> Dispatcher {
    let roster = Arc::new(Roster::new(vec![&SLOW, &QUICK]));
    let limits = [Limit { module: 0, concurrency: 3 }, Limit { module: 1, concurrency: 3 }];
    Dispatcher::new(roster, Slots::new(4, &[4, 4], &limits), 10, 10)
}

fn job(job_type: &'static str, attempts: u32, crashes: u32) -> Claimed {
    let id = EventId::from_ulid(ulid::Ulid::nil());
    Claimed {
        job_id: JobId::from_ulid(id.as_ulid()),
        claim_id: uuid::Uuid::nil(),
        event_id: Some(id),
        job_type,
        counts: Counts { attempts, max_attempts: 8, crashes },
        risk: risk(attempts - 1, 8, crashes, 3),
        envelope: Arc::new(Envelope {
            id,
            name: "order.placed".into(),
            version: 1,
            occurred_at: chrono::DateTime::UNIX_EPOCH,
            subject: Subject::default(),
            metadata: Metadata::default(),
            payload: Payload::from_json("{}"),
        }),
        done_before: false,
        bereft: false,
        late_by_then: Duration::ZERO,
        asked_at: std::time::Instant::now(),
        came_at: std::time::Instant::now(),
        expires_in: None,
    }
}

fn asked(wanted: &Wanted, job_type: &str) -> i32 {
    wanted.job_types.iter().position(|one| *one == job_type).map_or(0, |place| wanted.limits[place])
}

/// As the worker does: claims as long as there is a reason, starting whatever has a slot. Answers how many claims it took.
fn fill(dispatcher: &mut Dispatcher, available: &mut [(&'static str, i32)]) -> usize {
    let mut due = true;
    for claims in 0..100 {
        while dispatcher.start().is_some() {}
        let Some(wanted) = dispatcher.wanted(due) else { return claims };
        due = false;
        let mut jobs = Vec::new();
        for (job_type, left) in available.iter_mut() {
            let take = asked(&wanted, job_type).min(*left).min(wanted.most - i32::try_from(jobs.len()).unwrap());
            *left -= take;
            jobs.extend((0..take).map(|_| job(job_type, 1, 0)));
        }
        dispatcher.accept(&wanted, jobs);
    }
    panic!("it never stops claiming");
}

/// S0-29, S2-49: a handler that fills its slots and does not end is claimed no further than its share of the memory, and is
/// no reason to claim again and again.
#[test]
fn a_stuck_handler_is_not_claimed_without_end() {
    let mut dispatcher = dispatcher();
    let mut available = [("a.slow", 1_000), ("b.quick", 0)];
    let claims = fill(&mut dispatcher, &mut available);
    assert!(claims <= 5, "{claims} claims");
    assert!(available[0].1 >= 1_000 - 3 - 3, "three run, and at most one waits for each of them: {available:?}");
    let wanted = dispatcher.wanted(true).expect("the other handler has a free slot");
    assert_eq!((wanted.free_in_all, asked(&wanted, "b.quick")), (1, 1));
}

#[test]
fn a_quick_handler_reads_ahead_up_to_the_prefetch() {
    let mut dispatcher = dispatcher();
    for _ in 0..3 {
        assert!(dispatcher.slots.take(1, Risk::None));
        dispatcher.finished(&Ended { handler: 1, risk: Risk::None, ran: Duration::from_micros(10) });
    }
    let mut available = [("b.quick", 1_000)];
    fill(&mut dispatcher, &mut available);
    assert_eq!(available[0].1, 1_000 - 3 - 10, "three run, ten wait");
}

/// S0-29: a claim enters as few ranges as fill it, and whose turn it was not is the first of the next one.
#[test]
fn handlers_with_a_backlog_take_turns_in_claims_that_are_too_small_for_all() {
    let roster = Arc::new(Roster::new(vec![&SLOW, &QUICK]));
    let limits = [Limit { module: 0, concurrency: 400 }, Limit { module: 1, concurrency: 400 }];
    let mut dispatcher = Dispatcher::new(roster, Slots::new(800, &[800, 800], &limits), 100, 0);
    for turn in 0..4 {
        let wanted = dispatcher.wanted(true).expect("due");
        let whose = if turn % 2 == 0 { "a.slow" } else { "b.quick" };
        assert_eq!((wanted.job_types.as_slice(), asked(&wanted, whose)), ([whose].as_slice(), 100), "claim {turn}");
        dispatcher.accept(&wanted, (0..100).map(|_| job(whose, 1, 0)).collect());
        while dispatcher.start().is_some() {}
    }
    // One that has room for less than a share leaves the rest to the other.
    let limits = [Limit { module: 0, concurrency: 30 }, Limit { module: 1, concurrency: 400 }];
    let roster = Arc::new(Roster::new(vec![&SLOW, &QUICK]));
    let mut dispatcher = Dispatcher::new(roster, Slots::new(800, &[800, 800], &limits), 100, 0);
    let wanted = dispatcher.wanted(true).expect("due");
    assert_eq!((asked(&wanted, "a.slow"), asked(&wanted, "b.quick")), (30, 70));
}

#[test]
fn without_a_backlog_only_free_slots_are_asked_for() {
    let mut dispatcher = dispatcher();
    let wanted = dispatcher.wanted(true).expect("due");
    dispatcher.accept(&wanted, Vec::new());
    assert!(dispatcher.wanted(false).is_none(), "nothing was there, so there is no reason to look again");
    let wanted = dispatcher.wanted(true).expect("due");
    assert_eq!((asked(&wanted, "a.slow"), asked(&wanted, "b.quick"), wanted.most), (3, 3, 10));
}

#[test]
fn a_job_that_crashed_before_starts_ahead_of_those_that_wait_and_alone() {
    let mut dispatcher = dispatcher();
    let wanted = dispatcher.wanted(true).expect("due");
    dispatcher.accept(&wanted, vec![job("a.slow", 1, 0), job("a.slow", 3, 2), job("b.quick", 3, 2)]);
    let started: Vec<_> = std::iter::from_fn(|| dispatcher.start()).map(|started| started.risk).collect();
    assert_eq!(started.iter().filter(|risk| **risk == Risk::Alone).count(), 1);
    assert_eq!(started.len(), 2);
    assert!(dispatcher.finished(&Ended { handler: 0, risk: Risk::Alone, ran: Duration::ZERO }), "the next one is due");
    assert_eq!(dispatcher.start().map(|started| started.risk), Some(Risk::Alone));
}

/// S0-31: what may not wait takes the slots that it was claimed for, whosever turn it is: beside another handler's jobs in memory it would wait
/// for their slots, and be charged for their crash.
#[test]
fn what_may_not_wait_starts_before_another_handlers_jobs() {
    let mut dispatcher = dispatcher();
    let wanted = dispatcher.wanted(true).expect("due");
    let last_attempts = [job("b.quick", 8, 0), job("b.quick", 8, 0), job("b.quick", 8, 0)];
    dispatcher.accept(&wanted, (0..3).map(|_| job("a.slow", 1, 0)).chain(last_attempts).collect());
    let started: Vec<_> = std::iter::from_fn(|| dispatcher.start()).map(|started| started.risk).collect();
    assert_eq!(started, [Risk::Exposed, Risk::Exposed, Risk::Exposed, Risk::None]);
}

#[test]
fn what_was_not_started_is_given_back() {
    let mut dispatcher = dispatcher();
    let wanted = dispatcher.wanted(true).expect("due");
    dispatcher.accept(&wanted, (0..5).map(|_| job("a.slow", 1, 0)).collect());
    while dispatcher.start().is_some() {}
    assert_eq!(dispatcher.take_waiting().len(), 2);
    assert!(dispatcher.start().is_none());
}

static PAY: SubscriberDescriptor =
    SubscriberDescriptor { settings: Settings { parks: true, ..Settings::DEFAULT }, ..handler("a.pay") };

/// S2-72: what is parked when its worker dies is claimed into free slots only: else jobs that nobody called would be asked about.
#[test]
fn what_parks_does_not_wait_in_memory() {
    let roster = Arc::new(Roster::new(vec![&PAY, &QUICK]));
    let limits = [Limit { module: 0, concurrency: 3 }, Limit { module: 1, concurrency: 3 }];
    let mut dispatcher = Dispatcher::new(roster, Slots::new(4, &[4, 4], &limits), 10, 10);
    let mut available = [("a.pay", 1_000)];
    fill(&mut dispatcher, &mut available);
    assert_eq!(available[0].1, 1_000 - 3, "three run, and none waits");
    assert_eq!(dispatcher.wanted(true).map(|wanted| wanted.parking), Some(vec!["a.pay"]));
}

static BULK: SubscriberDescriptor =
    SubscriberDescriptor { settings: Settings { batch: Some(10), ..Settings::DEFAULT }, ..handler("c.bulk") };

/// Two slots of four for `c.bulk`, which takes ten jobs a call; nothing waits in memory.
fn in_bulk(batch: u32) -> Dispatcher {
    let roster = Arc::new(Roster::new(vec![&SLOW, &BULK]));
    let limits = [Limit { module: 0, concurrency: 3 }, Limit { module: 1, concurrency: 2 }];
    Dispatcher::new(roster, Slots::new(4, &[4, 4], &limits), batch, 0)
}

fn sizes(dispatcher: &mut Dispatcher) -> Vec<usize> {
    std::iter::from_fn(|| dispatcher.start()).map(|started| 1 + started.company.len()).collect()
}

#[test]
fn a_claim_brings_what_the_calls_of_free_slots_take() {
    let mut dispatcher = in_bulk(100);
    let wanted = dispatcher.wanted(true).expect("due");
    assert_eq!(
        (asked(&wanted, "a.slow"), asked(&wanted, "c.bulk"), wanted.most),
        (3, 19, 22),
        "together what one claim brings"
    );
    assert_eq!(wanted.free[1], 2, "those that may not wait have a slot each");
    dispatcher.accept(&wanted, (0..13).map(|_| job("c.bulk", 1, 0)).collect());
    assert_eq!(sizes(&mut dispatcher), [10, 3], "what is there is taken, and nothing is waited for");
    assert_eq!(in_bulk(12).wanted(true).map(|wanted| wanted.most), Some(12), "never more than one claim");
}

/// S0-31: what may not wait has no company whose crash it would be charged for, nor is it charged to any.
#[test]
fn a_job_that_crashed_or_is_on_its_last_attempt_has_a_call_of_its_own() {
    let mut dispatcher = in_bulk(100);
    let wanted = dispatcher.wanted(true).expect("due");
    let patient = (0..5).map(|_| job("c.bulk", 1, 0));
    dispatcher.accept(&wanted, patient.chain([job("c.bulk", 8, 0)]).collect());
    assert_eq!(sizes(&mut dispatcher), [1, 5]);
    let none = dispatcher.wanted(true).expect("due");
    assert_eq!(asked(&none, "c.bulk"), 0, "both slots are taken");
    dispatcher.accept(&none, Vec::new());
    let half = Ended { handler: 1, risk: Risk::None, ran: Duration::from_millis(1) };
    dispatcher.finished(&half);
    assert_eq!(dispatcher.wanted(true).map(|wanted| asked(&wanted, "c.bulk")), Some(10));
}

/// Slots for all, quick handlers with a backlog each, and memory for three claims of ten.
fn pressed() -> (Dispatcher, Wanted) {
    let roster = Arc::new(Roster::new(vec![&SLOW, &QUICK]));
    let limits = [Limit { module: 0, concurrency: 4 }, Limit { module: 1, concurrency: 4 }];
    let mut dispatcher = Dispatcher::new(roster, Slots::new(8, &[8, 8], &limits), 10, 30);
    let wanted = dispatcher.wanted(true).expect("due");
    let jobs = ["a.slow", "b.quick"].map(|name| (0..asked(&wanted, name)).map(move |_| job(name, 1, 0)));
    dispatcher.accept(&wanted, jobs.into_iter().flatten().collect());
    run_all(&mut dispatcher);
    let wanted = dispatcher.wanted(false).expect("there is a backlog");
    (dispatcher, wanted)
}

/// All that is in memory, in no time.
fn run_all(dispatcher: &mut Dispatcher) {
    while let Some(started) = dispatcher.start() {
        let ran = Duration::from_micros(1);
        dispatcher.finished(&Ended { handler: started.handler, risk: started.risk, ran });
    }
}

fn brings(wanted: &Wanted) -> Vec<Claimed> {
    ["a.slow", "b.quick"].iter().flat_map(|name| (0..asked(wanted, name)).map(|_| job(name, 1, 0))).collect()
}

/// S0-29: behind a claim under way comes another one, of a whole batch of what may wait in memory; not a third.
#[test]
fn a_claim_behind_another_takes_what_may_wait() {
    let (mut dispatcher, first) = pressed();
    assert!(dispatcher.wanted(true).is_none(), "one that sees free slots comes alone");
    let behind = dispatcher.wanted_behind().expect("there is room for a batch");
    assert_eq!((behind.most, behind.limits.iter().sum::<i32>()), (10, 10));
    assert!(behind.free.iter().chain(&behind.module_free).all(|free| *free == 0));
    assert!(!behind.crashed_too && behind.free_in_all == 0);
    assert!(dispatcher.wanted_behind().is_none());
    dispatcher.accept(&first, brings(&first));
    assert!(!dispatcher.asks_nothing());
}

/// S0-29: with what is in memory and under way, no more is asked for than may wait and run.
#[test]
fn a_claim_behind_another_keeps_within_the_memory() {
    let (mut dispatcher, mut under_way) = pressed();
    let mut claims = 0;
    while let Some(behind) = dispatcher.wanted_behind() {
        dispatcher.accept(&under_way, brings(&under_way));
        while dispatcher.start().is_some() {}
        under_way = behind;
        claims += 1;
        assert!(dispatcher.waiting + 10 <= 30, "{} wait, and 10 are under way", dispatcher.waiting);
        assert!(claims < 10, "the slots are taken, and nothing ends");
    }
}

/// S0-29: nor does it follow where nobody knows of a backlog, or where a handler is slow.
#[test]
fn a_claim_behind_another_needs_a_backlog_of_quick_handlers() {
    let mut fresh = dispatcher();
    assert!(fresh.wanted_behind().is_none(), "none is under way");
    assert!(fresh.wanted(true).is_some() && fresh.wanted_behind().is_none(), "nothing is known yet");
    let (mut slow, mut first) = pressed();
    for _ in 0..4 {
        slow.accept(&first, brings(&first));
        while let Some(started) = slow.start() {
            slow.finished(&Ended { handler: started.handler, risk: started.risk, ran: Duration::from_mins(1) });
        }
        first = slow.wanted(true).expect("due");
    }
    assert!(slow.wanted_behind().is_none());
}

/// S0-29: a claim that sees free slots comes after a few of them, for the jobs that need one.
#[test]
fn claims_behind_others_end_by_themselves() {
    let (mut dispatcher, mut under_way) = pressed();
    let mut in_a_row = 0;
    while let Some(behind) = dispatcher.wanted_behind() {
        in_a_row += 1;
        assert!(in_a_row < 100, "it never ends");
        dispatcher.accept(&under_way, brings(&under_way));
        run_all(&mut dispatcher);
        under_way = behind;
    }
    assert!(in_a_row > 1);
    dispatcher.accept(&under_way, brings(&under_way));
    run_all(&mut dispatcher);
    let next = dispatcher.wanted(false).expect("there is a backlog");
    assert!(next.free.iter().all(|free| *free > 0));
}

/// S0-29: nor where another handler has free slots, and a backlog of jobs that may not wait in memory.
#[test]
fn a_claim_behind_another_leaves_no_slot_empty() {
    let (mut dispatcher, first) = pressed();
    let other = usize::from(asked(&first, "b.quick") == 0);
    (dispatcher.backlog[other], dispatcher.ahead[other]) = (true, false);
    assert!(dispatcher.wanted_behind().is_none());
    dispatcher.ahead[other] = true;
    assert!(dispatcher.wanted_behind().is_some());
}
