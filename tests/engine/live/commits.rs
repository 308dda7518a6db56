//! Which events a stream shows, and in which order: by commits, whatever their ids and times say.

use std::time::{Duration, Instant};

use outbox_testing::Sandbox;
use outbox_testing::fault::Session;

use super::watch::{Item, asked, next, onlooker, publish_in, take, waiting, watch};
use crate::floor::{Do, Floor, Worker, ask};

/// S1-39: an event is shown behind its commit and never before it, and one that is rolled back is not shown.
#[tokio::test]
async fn an_event_is_seen_when_it_is_committed() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let mut undone = outbox.begin().await.unwrap();
    publish_in(&outbox, &mut undone, "undone").await;
    let mut open = outbox.begin().await.unwrap();
    let late = publish_in(&outbox, &mut open, "late").await;
    // The feed has read behind this one, and both of the others were published before it.
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(seen));
    assert_eq!(waiting(&stream), 0);
    undone.rollback().await.unwrap();
    open.commit().await.unwrap();
    let last = ask(&outbox, "last", []).await;
    assert_eq!(take(&mut stream, 2).await, [Item::Event(late), Item::Event(last)]);
}

/// B21: transactions that commit in the reverse order of their ids, and of their numbers, are both shown.
#[tokio::test]
async fn commits_in_the_reverse_order_of_their_ids_are_both_seen() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.asked").await;
    for round in 0..5 {
        let mut first = outbox.begin().await.unwrap();
        let low = publish_in(&outbox, &mut first, &format!("low {round}")).await;
        let mut second = outbox.begin().await.unwrap();
        let high = publish_in(&outbox, &mut second, &format!("high {round}")).await;
        assert!(low < high);
        second.commit().await.unwrap();
        assert_eq!(next(&mut stream).await, Item::Event(high));
        first.commit().await.unwrap();
        assert_eq!(next(&mut stream).await, Item::Event(low));
    }
}

/// B21: a transaction that published before any stream began, and commits when streams have read on, is shown.
#[tokio::test]
async fn a_transaction_from_before_the_stream_is_seen_when_it_commits() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut old = outbox.begin().await.unwrap();
    let before = publish_in(&outbox, &mut old, "before").await;
    let mut stream = watch(&outbox, "work.asked").await;
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(seen));
    old.commit().await.unwrap();
    assert_eq!(next(&mut stream).await, Item::Event(before));
}

/// B21, O2: a transaction that stays open over many reads and sweeps is shown when it commits, also when its publisher's clock is
/// twenty minutes behind.
#[tokio::test]
async fn a_late_commit_under_an_old_id_is_seen() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let url = Sandbox::url().await;
    let before = Session::write(&url, &insert(&floor, "clock_timestamp() - interval '20 min'", 1)).await.unwrap();
    let mut stream = watch(&outbox, "work.asked").await;
    let meanwhile = Session::write(&url, &insert(&floor, "clock_timestamp() - interval '20 min'", 2)).await.unwrap();
    let (begun, mut round) = (Instant::now(), 0);
    // Two sweeps and more.
    while round < 20 || begun.elapsed() < Duration::from_secs(6) {
        round += 1;
        let seen = ask(&outbox, &format!("{round}"), []).await;
        assert_eq!(next(&mut stream).await, Item::Event(seen));
    }
    for open in [before, meanwhile] {
        open.commit().await.unwrap();
        assert!(matches!(next(&mut stream).await, Item::Event(_)));
    }
}

/// What a publisher commits whose clock is half an hour behind is shown, once, among all else.
#[tokio::test]
async fn a_publisher_whose_clock_is_behind_is_seen() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.asked").await;
    for number in 1..=3 {
        floor.sandbox.execute(&insert(&floor, "clock_timestamp() - interval '30 min'", number)).await;
        let prompt = ask(&outbox, "prompt", []).await;
        let items = take(&mut stream, 2).await;
        assert!(items.contains(&Item::Event(prompt)) && items[0] != items[1], "{items:?}");
    }
    // Nothing of it comes again, while it is swept over.
    let (begun, mut round) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(5) {
        round += 1;
        let seen = ask(&outbox, &format!("{round}"), []).await;
        assert_eq!(next(&mut stream).await, Item::Event(seen));
    }
}

/// An event row under an id of this time.
fn insert(floor: &Floor, time: &str, number: u8) -> String {
    let id = format!("(left(:schema.ulid_floor({time})::text, 34) || '{number:02}')::uuid");
    let text = format!(
        "insert into :schema.event (id, event_type, event_version, subject_type, payload) values ({id}, 'work.asked', 1, 'work', '{{}}')"
    );
    text.replace(":schema.", &floor.sandbox.table(""))
}

/// Events of one transaction come in the order in which they were published, whatever else commits.
#[tokio::test]
async fn events_of_one_transaction_come_in_their_order() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.asked").await;
    let mut expected = Vec::new();
    for batch in 0..5 {
        let mut tx = outbox.begin().await.unwrap();
        for n in 0..20 {
            expected.push(Item::Event(publish_in(&outbox, &mut tx, &format!("{batch} {n}")).await));
        }
        tx.commit().await.unwrap();
    }
    assert_eq!(take(&mut stream, 100).await, expected);
}

/// An event comes behind those that were committed before it was published, also when its publisher's clock is behind, and both come
/// with one read.
#[tokio::test]
async fn an_event_comes_behind_those_that_its_publisher_knew() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.asked").await;
    // Nobody is woken by these.
    floor.sandbox.execute(&insert(&floor, "clock_timestamp()", 1)).await;
    floor.sandbox.execute(&insert(&floor, "clock_timestamp() - interval '3 s'", 2)).await;
    outbox.kick();
    let items = take(&mut stream, 2).await;
    let [Item::Event(first), Item::Event(second)] = items[..] else { panic!("{items:?}") };
    assert!(first > second, "by commits, not by ids");
}

/// Publishing many at once brings all of them, once each.
#[tokio::test]
async fn a_batch_is_seen_whole() {
    let floor = Floor::new().await;
    let outbox = onlooker(&floor).await;
    let stream = outbox.live().events(["*"]).buffer(2_000).subscribe().unwrap();
    let mut stream = super::watch::begun(stream).await;
    let events: Vec<_> = (0..1_500).map(|n| asked(&n.to_string())).collect();
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish_all(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    let expected: Vec<_> = published.iter().map(|one| Item::Event(one.event_id)).collect();
    assert_eq!(take(&mut stream, 1_500).await, expected);
    let last = ask(&outbox, "last", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(last));
}

/// What a handler publishes is shown when the handler's transaction commits.
#[tokio::test]
async fn what_a_handler_publishes_is_seen() {
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["till.book"]).build().await.unwrap());
    let mut stream = watch(&worker.outbox, "work.followed").await;
    ask(&worker.outbox, "a", [Do::Publish("follow".into())]).await;
    let item = tokio::time::timeout(outbox_testing::DEADLINE, stream.next()).await.unwrap();
    let Some(outbox::Live::Event(envelope)) = item else { panic!("{item:?}") };
    assert_eq!((envelope.name.as_str(), envelope.subject.id.as_deref()), ("work.followed", Some("follow")));
    assert!(envelope.metadata.causation.is_some());
    worker.stop().await;
}
