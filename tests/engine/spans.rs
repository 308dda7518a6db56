//! spans: what is logged while a handler runs says of which message it is, and of which request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use outbox::Metadata;
use outbox_testing::{Logs, eventually};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Subscriber};

use crate::floor::{Asked, Do, Floor, Worker, ask, fail};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The engine's spans of this thread that are open, by number, and how often each is held.
#[derive(Clone, Default)]
struct Open {
    held: Arc<Mutex<BTreeMap<u64, u32>>>,
    opened: Arc<AtomicU64>,
    /// Without a second listener, `tracing` takes one thread's answer for all.
    beside: Option<Dispatch>,
}

impl Open {
    fn listen() -> (Self, DefaultGuard) {
        let mut open = Self::default();
        open.beside = Some(Dispatch::new(open.clone()));
        let guard = tracing::subscriber::set_default(open.clone());
        (open, guard)
    }
}

impl Subscriber for Open {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("outbox")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        self.held.lock().unwrap().insert(number, 1);
        Id::from_u64(number)
    }

    fn clone_span(&self, id: &Id) -> Id {
        *self.held.lock().unwrap().entry(id.into_u64()).or_default() += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut held = self.held.lock().unwrap();
        let left = held.get_mut(&id.into_u64()).map_or(0, |times| {
            *times -= 1;
            *times
        });
        if left == 0 {
            held.remove(&id.into_u64());
        }
        left == 0
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// B25: while a worker that has worked is idle, no span is open: none outlives its job or its poll, and an exporter that keeps what has not
/// ended keeps nothing.
#[tokio::test]
async fn no_span_outlives_its_job() {
    let (open, _listening) = Open::listen();
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "till.book"]).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    for n in 0..10 {
        ask(&outbox, &n.to_string(), [fail("one"), Do::Succeed]).await;
    }
    floor.until_settled().await;
    // Two handlers, one of them twice.
    assert!(open.opened.load(Ordering::SeqCst) >= 30, "{:?}", open.opened);
    eventually("every span has ended", async || open.held.lock().unwrap().is_empty().then_some(())).await;
    worker.stop().await;
}

/// B25, S2-65: event, correlation and trace of a request are in the span of each execution, at the first try and at a retry, and in what follows from
/// it: they are read from the row, so that a message that comes back, here or in another process, begins no new trace.
#[tokio::test]
async fn an_execution_says_whose_request_it_is() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "till.book"]).build().await.unwrap();
    let context = Metadata::new().correlation("request 7").trace(TRACE, None);
    let plan = [fail("one"), Do::Succeed];
    let event = outbox.scope_with(context, ask(&outbox, "a", plan)).await;
    let logs = Logs::everything();
    let worker = Worker::start(outbox);
    floor.until("desk.note", event, "succeeded").await;
    floor.until_settled().await;
    worker.stop().await;
    let lines = logs.lines();
    let of_note: Vec<_> = lines.iter().filter(|line| line.contains("handler=\"desk.note\"")).collect();
    let spans: Vec<_> = of_note.iter().filter(|line| line.contains(&format!("id={event}"))).collect();
    assert_eq!(spans.iter().filter(|line| line.contains("attempt=1")).count(), 1, "{spans:?}");
    assert_eq!(spans.iter().filter(|line| line.contains("attempt=2")).count(), 1, "{spans:?}");
    for said in ["correlation=\"request 7\"", &format!("traceparent=\"{TRACE}\"")] {
        let times = lines.iter().filter(|line| **line == format!("span {said}")).count();
        // Both handlers, the one of them twice at least.
        assert!(times >= 3, "{said}: {times}");
    }
}

/// S2-65: what a handler publishes carries the trace and the correlation of what it handled, in its row.
#[tokio::test]
async fn a_follow_up_is_of_the_same_trace() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let context = Metadata::new().correlation("request 7").trace(TRACE, Some("vendor=1".to_owned()));
    outbox.scope_with(context, ask(&outbox, "a", [Do::Publish("b".to_owned())])).await;
    outbox.drain().await.unwrap();
    let same = format!(
        "select count(*) from :schema.event where metadata->>'traceparent' = '{TRACE}' and metadata->>'tracestate' = 'vendor=1'
         and metadata->>'correlation' = 'request 7'"
    );
    assert_eq!(floor.sandbox.number(&same).await, 2);
}

/// S2-65: a publish, and an enqueue, can say the span that it happens in; it goes on with that one, and not with its request's.
#[tokio::test]
async fn a_publish_can_say_its_own_span() {
    const SPAN: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let context = Metadata::new().trace(TRACE, Some("vendor=1".to_owned()));
    let publishing = async {
        let mut tx = outbox.begin().await.unwrap();
        outbox
            .publish(&mut tx, &Asked { label: "a".to_owned(), plan: vec![Do::Succeed] })
            .trace(SPAN, None)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    };
    outbox.scope_with(context, publishing).await;
    let said = format!(
        "select count(*) from :schema.event where metadata->>'traceparent' = '{SPAN}' and not metadata ? 'tracestate'"
    );
    assert_eq!(floor.sandbox.number(&said).await, 1);
}
