//! What the tests of live streams share.

use std::time::Duration;

use outbox::{EventId, Live, LiveStream, Missed, Outbox};
use outbox_testing::DEADLINE;
use tokio::time::timeout;

use crate::floor::{Asked, Floor};

/// An item, as tests compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Event(EventId),
    Missed(Missed),
    End,
}

pub async fn next(stream: &mut LiveStream) -> Item {
    match timeout(DEADLINE, stream.next()).await.expect("the stream brings something") {
        Some(Live::Event(envelope)) => Item::Event(envelope.id),
        Some(Live::Missed(why)) => Item::Missed(why),
        Some(other) => panic!("{other:?}"),
        None => Item::End,
    }
}

/// So many items.
pub async fn take(stream: &mut LiveStream, count: usize) -> Vec<Item> {
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(next(stream).await);
    }
    items
}

/// A stream of these events that stands.
pub async fn watch(outbox: &Outbox, pattern: &str) -> LiveStream {
    begun(outbox.live().events([pattern]).subscribe().unwrap()).await
}

/// Takes the first item.
pub async fn begun(mut stream: LiveStream) -> LiveStream {
    assert_eq!(next(&mut stream).await, Item::Missed(Missed::Started));
    stream
}

/// What waits already, without waiting for more.
pub fn waiting(stream: &LiveStream) -> usize {
    stream.waiting().0
}

/// A process that only publishes or looks on, with an hour between polls of a worker.
pub async fn onlooker(floor: &Floor) -> Outbox {
    floor.outbox(&[]).poll_interval(Duration::from_hours(1)).build().await.unwrap()
}

/// Publishes in a transaction that is not committed yet.
pub async fn publish_in(outbox: &Outbox, transaction: &mut sqlx::PgConnection, label: &str) -> EventId {
    outbox.publish(transaction, &asked(label)).await.unwrap().event_id
}

pub fn asked(label: &str) -> Asked {
    Asked { label: label.to_owned(), plan: Vec::new() }
}
