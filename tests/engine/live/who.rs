//! What a stream shows to whom, and what a role needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox::Metadata;
use outbox_testing::{Logs, eventually};

use super::watch::{Item, asked, begun, next, onlooker, watch};
use crate::floor::{Floor, ask};
use crate::linkage::only_events;
use crate::roles::granted::Granted;
use crate::support::publish;

/// A stream of one tenant or project shows what was published within it, and nothing else, be it of another or of none.
#[tokio::test]
async fn a_stream_of_one_tenant_shows_no_other() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut ours = begun(outbox.live().events(["work.*"]).tenant("ours").subscribe().unwrap()).await;
    let mut all = watch(&outbox, "*").await;
    for tenant in [Some("theirs"), None, Some("ours")] {
        let context = tenant.map_or_else(Metadata::new, |tenant| Metadata::new().tenant(tenant));
        let event = Item::Event(outbox.scope_with(context, ask(&outbox, "a", [])).await);
        assert_eq!(next(&mut all).await, event);
        if tenant == Some("ours") {
            assert_eq!(next(&mut ours).await, event);
        } else {
            assert_eq!(ours.waiting(), (0, 0));
        }
    }
}

/// S1-41: the application's filter is asked for each event when it is taken, so that who may see it is decided then, and not when the
/// stream began.
#[tokio::test]
async fn a_filter_is_asked_for_each_event() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let member = Arc::new(AtomicBool::new(true));
    let is_member = Arc::clone(&member);
    let stream = outbox.live().events(["*"]).filter(move |_| is_member.load(Ordering::SeqCst));
    let mut stream = begun(stream.filter(|envelope| envelope.name.starts_with("work.")).subscribe().unwrap()).await;
    let mut all = watch(&outbox, "*").await;
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(seen));
    publish(&outbox, "o1").await;
    ask(&outbox, "while it was no member", []).await;
    for _ in 0..3 {
        next(&mut all).await;
    }
    // Committed and waiting while it still was one; taken when it is not any more.
    member.store(false, Ordering::SeqCst);
    let polled = {
        let waiting = stream.next();
        tokio::pin!(waiting);
        std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await
    };
    assert!(polled.is_pending(), "{polled:?}");
    member.store(true, Ordering::SeqCst);
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(last));
}

/// Streams read payloads: a worker's role may, and a publisher's, which may not, is told of it in the log, once.
#[tokio::test]
async fn a_worker_may_look_on_and_a_publisher_may_not() {
    let it = Granted::new().await;
    let worker = it.floor.outbox_on(it.member("worker").await, &[]).build().await.unwrap();
    let mut stream = watch(&worker, "work.*").await;
    let publisher = it.outbox(&it.member("publisher").await, only_events()).build().await.unwrap();
    let logs = Logs::warnings();
    let mut blind = publisher.live().events(["work.*"]).subscribe().unwrap();
    let told = || logs.lines().iter().filter(|line| line.contains("look at its grants")).count();
    eventually("the log says so", async || (told() == 1).then_some(())).await;
    let mut tx = publisher.begin().await.unwrap();
    let event = publisher.publish(&mut tx, &asked("a")).await.unwrap().event_id;
    tx.commit().await.unwrap();
    assert_eq!(next(&mut stream).await, Item::Event(event));
    let polled = {
        let waiting = blind.next();
        tokio::pin!(waiting);
        std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await
    };
    assert!(polled.is_pending(), "{polled:?}");
    assert_eq!(told(), 1, "{:?}", logs.lines());
}
