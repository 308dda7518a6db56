//! How a stream ends, and what is refused.

use outbox::{LiveError, Missed};
use outbox_testing::eventually;

use super::watch::{Item, begun, next, onlooker, take, watch};
use crate::floor::{Floor, Worker, ask};

/// S2-54: a worker that is asked to shut down ends the streams of its process, so that no server waits for its open responses; what waits in
/// them comes first. Those that are asked for meanwhile end at once.
#[tokio::test]
async fn a_shutdown_ends_the_streams() {
    let floor = Floor::new().await;
    let mut worker = Worker::start(floor.outbox(&["desk.note"]).build().await.unwrap());
    let outbox = worker.outbox.clone();
    let mut stream = watch(&outbox, "work.*").await;
    let seen = ask(&outbox, "seen", []).await;
    eventually("it waits in the stream", async || (stream.waiting().0 == 1).then_some(())).await;
    worker.ask_to_stop();
    assert_eq!(take(&mut stream, 2).await, [Item::Event(seen), Item::End]);
    assert_eq!(next(&mut outbox.live().events(["*"]).subscribe().unwrap()).await, Item::End);
    worker.stop().await;
    assert_eq!(next(&mut outbox.live().events(["*"]).subscribe().unwrap()).await, Item::End);
    // And a worker that begins anew has streams again.
    let again = Worker::start(outbox.clone());
    eventually("streams are given again", async || {
        let mut stream = outbox.live().events(["*"]).subscribe().unwrap();
        (next(&mut stream).await == Item::Missed(Missed::Started)).then_some(())
    })
    .await;
    again.stop().await;
}

/// S2-54: a process without a worker ends them by hand.
#[tokio::test]
async fn streams_are_closed_by_hand() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut streams = vec![watch(&outbox, "work.*").await, watch(&outbox, "*").await];
    outbox.live().close();
    for stream in &mut streams {
        assert_eq!(next(stream).await, Item::End);
    }
    // Of another outbox of the process they go on.
    let other = onlooker(&floor).await;
    let mut stream = watch(&other, "*").await;
    let seen = ask(&other, "seen", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(seen));
}

/// What cannot be is refused at once, with what to write instead.
#[tokio::test]
async fn what_cannot_be_is_refused() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let refused = |patterns: &[&str]| outbox.live().events(patterns.iter().copied()).subscribe().unwrap_err();
    assert_eq!(refused(&["work.*", "WorkAsked"]), LiveError::Pattern { pattern: "WorkAsked".into() });
    assert!(refused(&["WorkAsked"]).to_string().contains("did you mean `work.asked`?"));
    assert!(refused(&["work*"]).to_string().contains("`order.*`"));
    assert_eq!(refused(&[]), LiveError::NoEvents);
    let unknown = refused(&["work.asked", "wrok.*"]);
    assert!(
        matches!(&unknown, LiveError::UnknownEvents { pattern, known } if pattern == "wrok.*" && known.contains(&"work.asked"))
    );
    assert!(unknown.to_string().contains("`outbox::modules![..]`"), "{unknown}");
    assert_eq!(outbox.live().events(["*"]).buffer(0).subscribe().unwrap_err(), LiveError::NoBuffer);
    let live = outbox.live();
    let outside = std::thread::spawn(move || live.events(["*"]).subscribe().unwrap_err()).join().unwrap();
    assert_eq!(outside, LiveError::NoRuntime);
}

/// A consumer that stops waiting in the middle loses nothing.
#[tokio::test]
async fn next_is_cancel_safe() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = begun(outbox.live().event::<crate::floor::Asked>().subscribe().unwrap()).await;
    for n in 0..20 {
        let event = {
            let waiting = stream.next();
            tokio::pin!(waiting);
            let polled = std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await;
            assert!(polled.is_pending());
            ask(&outbox, &n.to_string(), []).await
        };
        assert_eq!(next(&mut stream).await, Item::Event(event));
    }
}
