//! Where events are missing, the stream says so in their place.

use outbox::Missed;

use super::watch::{Item, asked, begun, next, onlooker, take, waiting, watch};
use crate::floor::{Floor, ask};
use crate::support::publish;

/// S1-39, S1-40: a consumer that takes nothing costs a bounded buffer and nobody else anything: the others miss nothing, and it is told
/// once, in front of what comes behind.
#[tokio::test]
async fn a_slow_consumer_is_told_and_nobody_waits_for_it() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut slow = begun(outbox.live().events(["work.*"]).buffer(4).subscribe().unwrap()).await;
    let mut quick = watch(&outbox, "work.*").await;
    let mut published = Vec::new();
    for n in 0..30 {
        let event = Item::Event(ask(&outbox, &format!("n{n}"), []).await);
        assert_eq!(next(&mut quick).await, event);
        assert!(waiting(&slow) <= 4);
        published.push(event);
    }
    assert_eq!(next(&mut slow).await, Item::Missed(Missed::Slow));
    let left = waiting(&slow);
    assert!((1..=4).contains(&left), "{left}");
    // What comes behind is the end of it, without a hole.
    assert_eq!(take(&mut slow, left).await, published[30 - left..]);
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut slow).await, Item::Event(last));
    assert_eq!(next(&mut quick).await, Item::Event(last));
}

/// A buffer is bounded in bytes too: large payloads fill it before their number does, and one always has room.
#[tokio::test]
async fn large_payloads_fill_a_buffer_too() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let mut quick = watch(&outbox, "work.*").await;
    let large = |n: usize| format!("{n}{}", "x".repeat(600 * 1024));
    let first = ask(&outbox, &large(1), []).await;
    assert_eq!(next(&mut quick).await, Item::Event(first));
    assert_eq!(waiting(&stream), 1);
    let second = ask(&outbox, &large(2), []).await;
    assert_eq!(next(&mut quick).await, Item::Event(second));
    let (events, bytes) = stream.waiting();
    assert!(events == 1 && bytes < 1024 * 1024, "{events} {bytes}");
    assert_eq!(take(&mut stream, 2).await, [Item::Missed(Missed::Slow), Item::Event(second)]);
}

/// S1-40: more at once than a feed reads is not read, and those whose events may be among it are told. Others are not, and it goes on
/// behind it.
#[tokio::test]
async fn more_than_a_feed_reads_is_told() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut concerned = watch(&outbox, "work.*").await;
    let mut other = watch(&outbox, "order.*").await;
    let events: Vec<_> = (0..2_500).map(|n| asked(&n.to_string())).collect();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(next(&mut concerned).await, Item::Missed(Missed::Behind));
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut concerned).await, Item::Event(last));
    let placed = publish(&outbox, "o1").await.event_id;
    assert_eq!(next(&mut other).await, Item::Event(placed));
}

/// A stream begins with the word that it stands; what a query sees behind that and what the stream brings are together all there is.
#[tokio::test]
async fn it_begins_with_the_word_that_it_stands() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    ask(&outbox, "before", []).await;
    let mut first = watch(&outbox, "*").await;
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!(next(&mut first).await, Item::Event(seen));
    // Another one, beside a feed that runs.
    let mut second = watch(&outbox, "*").await;
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut second).await, Item::Event(last));
    assert_eq!(next(&mut first).await, Item::Event(last));
}
