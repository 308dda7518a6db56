//! Coming back: a stream goes on where it was, or says that it cannot.

use outbox::Missed;

use super::watch::{Item, asked, next, onlooker, take, watch};
use crate::floor::{Floor, ask};
use crate::support::publish;

/// S1-40: who comes back with his position goes on behind it, without a gap and without an event twice.
#[tokio::test]
async fn a_stream_goes_on_from_a_position() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let first = ask(&outbox, "first", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(first));
    let position = stream.position().unwrap().to_string();
    drop(stream);
    let mut missed = Vec::new();
    for label in ["a", "b", "c"] {
        missed.push(Item::Event(ask(&outbox, label, []).await));
        publish(&outbox, label).await;
    }
    // Somebody looks on who shows that the feed has read them.
    let mut other = outbox.live().events(["work.*"]).resume(Some(&position)).subscribe().unwrap();
    assert_eq!(take(&mut other, 3).await, missed);
    let mut stream = outbox.live().events(["work.*"]).resume(Some(&position)).subscribe().unwrap();
    assert_eq!(take(&mut stream, 3).await, missed);
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(last));
}

/// A position moves on with events that the stream does not show, so that a quiet stream can go on too.
#[tokio::test]
async fn a_position_moves_on_with_what_is_not_shown() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut quiet = watch(&outbox, "order.*").await;
    let mut all = watch(&outbox, "*").await;
    // More than is remembered.
    for _ in 0..11 {
        let events: Vec<_> = (0..100).map(|n| asked(&n.to_string())).collect();
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish_all(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        let expected: Vec<_> = published.iter().map(|one| Item::Event(one.event_id)).collect();
        assert_eq!(take(&mut all, 100).await, expected);
    }
    let position = quiet.position().unwrap().to_string();
    let placed = publish(&outbox, "o1").await.event_id;
    assert_eq!(next(&mut quiet).await, Item::Event(placed));
    drop(quiet);
    let mut back = outbox.live().events(["order.*"]).resume(Some(&position)).subscribe().unwrap();
    assert_eq!(next(&mut back).await, Item::Event(placed));
}

/// S1-40: a position that is not remembered, is of another process, or is none at all, is answered by the word to read anew, and never
/// by an error.
#[tokio::test]
async fn an_unknown_position_is_told() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let elsewhere = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let mut there = watch(&elsewhere, "work.*").await;
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!((next(&mut stream).await, next(&mut there).await), (Item::Event(seen), Item::Event(seen)));
    let of_another_process = there.position().unwrap().to_string();
    let never = "01ARZ3NDEKTSV4RRFFQ69G5FAV-00000001".to_owned();
    let no_feed = seen.to_string();
    for odd in [
        of_another_process,
        never,
        no_feed,
        String::new(),
        "-".into(),
        "-1".into(),
        "\u{0}é-é".into(),
        "x".repeat(10_000),
    ] {
        let mut back = outbox.live().events(["work.*"]).resume(Some(&odd)).subscribe().unwrap();
        assert_eq!(next(&mut back).await, Item::Missed(Missed::Forgotten), "{odd}");
    }
    // The one that fell out of the ring.
    let position = stream.position().unwrap().to_string();
    let events: Vec<_> = (0..1_100).map(|n| asked(&n.to_string())).collect();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(next(&mut stream).await, Item::Missed(Missed::Slow));
    let mut back = outbox.live().events(["work.*"]).resume(Some(&position)).subscribe().unwrap();
    assert_eq!(next(&mut back).await, Item::Missed(Missed::Forgotten));
}

/// More behind the position than a buffer holds is a gap, not a flood.
#[tokio::test]
async fn more_than_a_buffer_behind_a_position_is_a_gap() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let first = ask(&outbox, "first", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(first));
    let position = stream.position().unwrap().to_string();
    let mut expected = Vec::new();
    for n in 0..10 {
        expected.push(Item::Event(ask(&outbox, &n.to_string(), []).await));
    }
    assert_eq!(take(&mut stream, 10).await, expected);
    let mut back = outbox.live().events(["work.*"]).buffer(4).resume(Some(&position)).subscribe().unwrap();
    assert_eq!(next(&mut back).await, Item::Missed(Missed::Slow));
    let left = super::watch::waiting(&back);
    assert_eq!(take(&mut back, left).await, expected[10 - left..]);
}
