use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::join_all;
use outbox::Verdict;
use outbox_testing::Logs;
use tokio::sync::watch;

use super::*;
use crate::circuit::CircuitState;
use crate::message::tests::envelope;
use crate::transport::Link;

/// A destination that answers as it is told to.
struct Scripted {
    link: Link,
    /// `None`: it says nothing.
    answer: watch::Sender<Option<Result<Confirmed, NotConfirmed>>>,
    calls: AtomicU32,
    under_way: AtomicU32,
    most_under_way: AtomicU32,
}

/// How long an answer takes.
const ROUND: Duration = Duration::from_millis(10);

impl Scripted {
    fn answering(answer: Option<Result<Confirmed, NotConfirmed>>) -> Arc<Self> {
        let counter = AtomicU32::default;
        Arc::new(Self {
            link: Link::new(),
            answer: watch::Sender::new(answer),
            calls: counter(),
            under_way: counter(),
            most_under_way: counter(),
        })
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Transport for Arc<Scripted> {
    fn destination(&self) -> &'static str {
        "scripted"
    }

    fn link(&self) -> &Link {
        &self.link
    }

    async fn publish(&self, _: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(ROUND).await;
        let answer = self.answer.borrow().clone();
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn relay(transport: &Arc<Scripted>) -> Relay<Arc<Scripted>> {
    Relay::builder(Arc::clone(transport), "/shop").window(16).build().unwrap()
}

async fn send(relay: &Relay<Arc<Scripted>>) -> HandlerResult {
    relay.send(&Arc::new(envelope()), relay.held_until(), &Cancellation::new()).await
}

fn verdict(result: HandlerResult) -> Verdict {
    let error = result.expect_err("it did not go");
    error.downcast_ref::<Failure>().map_or(Verdict::Retry, Failure::verdict)
}

/// Whose fault it is decides what becomes of the job.
#[tokio::test(start_paused = true)]
async fn an_answer_is_an_outcome() {
    let scripted = Scripted::answering(Some(Ok(Confirmed::new())));
    let relay = relay(&scripted);
    assert!(send(&relay).await.is_ok());
    let tell = |answer| drop(scripted.answer.send_replace(Some(Err(answer))));
    tell(NotConfirmed::Unroutable { route: "a.b".into(), reason: "312 NO_ROUTE".into() });
    let unroutable = send(&relay).await.expect_err("it is no success").to_string();
    assert_eq!(unroutable, "no queue or stream takes `a.b`: 312 NO_ROUTE");
    assert_eq!(verdict(send(&relay).await), Verdict::Retry);
    tell(NotConfirmed::Refused("full".into()));
    assert_eq!(verdict(send(&relay).await), Verdict::Retry);
    tell(NotConfirmed::Unsendable("too large".into()));
    assert_eq!(verdict(send(&relay).await), Verdict::Quarantine);
    assert_eq!(relay.status().circuit, CircuitState::Closed);
    assert_eq!((relay.status().confirmed, relay.status().refused, relay.status().failures_in_a_row), (1, 4, 4));
    tell(NotConfirmed::Unreachable("refused".into()));
    assert!(matches!(verdict(send(&relay).await), Verdict::Snooze(_)));
    assert_eq!(relay.status().circuit, CircuitState::Open);
}

/// O15: an hour without the broker: every message is given back uncharged, and it is asked once a pause, by one message, however many wait.
#[tokio::test(start_paused = true)]
async fn an_outage_is_charged_to_nobody_and_knocked_at_by_one() {
    let scripted = Scripted::answering(Some(Err(NotConfirmed::Unreachable("nobody is there".into()))));
    let relay = relay(&scripted);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_hours(1) {
        for result in join_all((0..50).map(|_| send(&relay))).await {
            let Verdict::Snooze(pause) = verdict(result) else { panic!("an attempt was charged") };
            assert!(pause >= Duration::from_secs(1) && pause <= Duration::from_secs(72), "{pause:?}");
        }
    }
    // Five pauses that grow, then one of 30 to 36 s after another.
    assert!((100..=126).contains(&scripted.calls()), "{} calls in an hour", scripted.calls());
}

/// O15: an outage is told of once a pause, however many messages meet it, with why, for how long, and that nothing is charged; its end is too.
#[tokio::test(start_paused = true)]
async fn an_outage_is_one_line_a_pause() {
    let logs = Logs::of("outbox");
    let scripted = Scripted::answering(Some(Err(NotConfirmed::Unreachable("nobody is there".into()))));
    let relay = relay(&scripted);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(5) {
        join_all((0..50).map(|_| send(&relay))).await;
    }
    let lines = logs.take();
    assert_eq!(u32::try_from(lines.len()).unwrap(), scripted.calls(), "one message looks after each pause: {lines:#?}");
    assert!((10..=20).contains(&lines.len()), "{lines:#?}");
    let whole = |line: &String| {
        line.starts_with("WARN ")
            && line.contains("nobody is there")
            && line.contains("are charged nothing")
            && line.contains("scripted")
    };
    assert!(lines.iter().all(whole), "{lines:#?}");
    scripted.answer.send_replace(Some(Ok(Confirmed::new())));
    tokio::time::advance(Duration::from_mins(1)).await;
    join_all((0..50).map(|_| send(&relay))).await;
    let lines = logs.take();
    assert!(lines.len() == 1 && lines[0].contains("answers again"), "{lines:#?}");
}

/// Behind an outage no window is sent at once: one message, then two, then four.
#[tokio::test(start_paused = true)]
async fn a_return_is_not_flooded() {
    let scripted = Scripted::answering(Some(Err(NotConfirmed::Unreachable("nobody is there".into()))));
    let relay = relay(&scripted);
    let _ = send(&relay).await;
    scripted.answer.send_replace(Some(Ok(Confirmed::new())));
    let back = Instant::now();
    let waiting = async { join_all((0..31).map(|_| send(&relay))).await };
    let watching = async {
        // The pause, and then round by round what is under way.
        let mut seen = Vec::new();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        while seen.len() < 5 {
            seen.push(scripted.most_under_way.load(Ordering::SeqCst));
            tokio::time::sleep(ROUND).await;
        }
        seen
    };
    let (results, _) = tokio::join!(waiting, watching);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(scripted.most_under_way.load(Ordering::SeqCst), 16);
    // 1 + 2 + 4 + 8 + 16: five rounds behind the pause, not two.
    assert!(back.elapsed() >= Duration::from_secs(1) + 5 * ROUND, "{:?}", back.elapsed());
}

/// A broker that says nothing is a broker that is away, after the time for one confirm, whatever the transport does.
#[tokio::test(start_paused = true)]
async fn silence_has_a_deadline() {
    let scripted = Scripted::answering(None);
    let relay = relay(&scripted);
    let begun = Instant::now();
    assert!(matches!(verdict(send(&relay).await), Verdict::Snooze(_)));
    assert_eq!((begun.elapsed(), relay.status().under_way), (Duration::from_secs(10), 0));
    assert_eq!((relay.status().circuit, relay.status().unreachable), (CircuitState::Open, 1));
}

/// Held messages go back at once when the worker stops, and as long as they wait they need no answer.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_waiting() {
    let scripted = Scripted::answering(Some(Err(NotConfirmed::Unreachable("nobody is there".into()))));
    let relay = relay(&scripted);
    let _ = send(&relay).await;
    let stop = Cancellation::new();
    let event = Arc::new(envelope());
    let begun = Instant::now();
    let (sent, ()) = tokio::join!(relay.send(&event, relay.held_until(), &stop), async { stop.cancel() });
    assert!(sent.is_err() && begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// A message whose sending is dropped in the middle, as by a handler's timeout, takes no place with it.
#[tokio::test(start_paused = true)]
async fn a_dropped_sending_leaves_its_place() {
    let scripted = Scripted::answering(None);
    let relay = relay(&scripted);
    assert!(timeout(Duration::from_secs(1), send(&relay)).await.is_err());
    assert_eq!((relay.status().under_way, relay.status().circuit), (0, CircuitState::Closed));
    scripted.answer.send_replace(Some(Ok(Confirmed::new())));
    assert!(send(&relay).await.is_ok());
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let builder = || Relay::builder(Scripted::answering(None), "/shop");
    let refused = [
        Relay::builder(Scripted::answering(None), "").build().err(),
        Relay::builder(Scripted::answering(None), "a b").build().err(),
        builder().prefix("a..b").build().err(),
        builder().window(0).build().err(),
        builder().pauses(Duration::ZERO, Duration::from_secs(1)).build().err(),
        builder().pauses(Duration::from_secs(2), Duration::from_secs(1)).build().err(),
        builder().confirm_timeout(Duration::ZERO).build().err(),
        builder().hold(Duration::from_secs(41)).build().err(),
    ];
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
    assert!(builder().build().is_ok());
}

/// What came in by ingest is not sent on, and its job ends as discarded: a relay of `*` makes no loop. Told to, it sends it.
#[tokio::test(start_paused = true)]
async fn what_came_in_by_ingest_is_not_sent_on_unless_told() {
    let transport = Scripted::answering(Some(Ok(Confirmed::new())));
    let mut ingested = envelope();
    ingested.metadata.origin = Some("policy".to_owned());
    let ingested = Arc::new(ingested);
    let relay = relay(&transport);
    let outcome = relay.send(&ingested, relay.held_until(), &Cancellation::new()).await;
    let verdict = outcome.unwrap_err().downcast::<Failure>().unwrap().verdict();
    assert_eq!((verdict, transport.calls()), (Verdict::Discard, 0));
    send(&relay).await.unwrap();
    assert_eq!(transport.calls(), 1, "what was published here is sent");
    let bridge = Relay::builder(Arc::clone(&transport), "/bridge").forward_ingested(true).build().unwrap();
    bridge.send(&ingested, bridge.held_until(), &Cancellation::new()).await.unwrap();
    assert_eq!(transport.calls(), 2);
}
