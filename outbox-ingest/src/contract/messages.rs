//! The clauses about messages.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;

use super::{Origin, attribute, consuming, id, message, nothing_is_left, receive, take};
use crate::delivery::Value;
use crate::source::Source as _;

/// Bodies arrive byte for byte, attributes character for character, whatever they hold.
pub async fn what_was_published_arrives_intact<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let odd = "a\"b%20\\ \u{e9}\u{1f980}\r\nce-id: forged";
    let mut first = message(" {\"a\" :\t1.0e+2} ");
    first.attributes.push(("actor".to_owned(), odd.to_owned()));
    first.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    origin.publish(&first).await;
    let delivery = receive(&source, 1).await.pop().expect("one came");
    for (name, value) in &first.attributes {
        assert_eq!(attribute(&delivery, name).as_ref(), Some(value), "{name}");
    }
    let come = &delivery.message;
    assert_eq!(come.body.as_ref(), first.body);
    assert_eq!(come.content_type.as_deref(), Some("application/json"));
    assert_eq!(come.broker_id.as_deref(), Some(first.id()));
    let trace = first.traceparent.map(Value::Text);
    let header = |name: &str| come.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone());
    assert_eq!(header("traceparent"), trace);
    assert!(!come.route.is_empty() && !come.is_redelivered);
    // Any bytes, which the ingest judges.
    let mut second = message("");
    second.body = vec![0xff, 0x00, 0xfe];
    origin.publish(&second).await;
    delivery.acknowledgement.acknowledge().await.expect("the broker hears of it");
    let delivery = receive(&source, 1).await.pop().expect("one came");
    assert_eq!(delivery.message.body.as_ref(), second.body);
}

/// It is neither left out nor made up, so that the ingest can say what is wrong with the message; and the message is not lost.
pub async fn a_header_that_is_no_text_is_delivered_as_that<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let mut message = message("{}");
    message.odd = Some("subject".to_owned());
    origin.publish(&message).await;
    let delivery = receive(&source, 1).await.pop().expect("one came");
    let subject =
        delivery.message.attributes.iter().find(|(name, _)| name == "subject").map(|(_, value)| value.clone());
    assert_eq!((id(&delivery).as_str(), subject), (message.id(), Some(Value::Undecodable)));
}

/// The broker has forgotten it; what was not acknowledged it has not.
pub async fn what_is_acknowledged_does_not_come_again<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    for _ in 0..3 {
        origin.publish(&message("{}")).await;
    }
    let mut deliveries = Vec::new();
    while deliveries.len() < 3 {
        deliveries.extend(receive(&source, 10).await);
    }
    assert_eq!(origin.left().await, 3, "received is not acknowledged");
    for delivery in deliveries {
        delivery.acknowledgement.acknowledge().await.expect("the broker hears of it");
    }
    nothing_is_left(&origin).await;
    let last = message("{}");
    origin.publish(&last).await;
    assert_eq!(take(&source, &BTreeSet::from([last.id().to_owned()])).await, [last.id()]);
}

/// And says that it was delivered before.
pub async fn what_is_given_back_comes_again<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let message = message("{}");
    origin.publish(&message).await;
    let delivery = receive(&source, 1).await.pop().expect("one came");
    delivery.acknowledgement.give_back().await.expect("the broker hears of it");
    let again = receive(&source, 1).await.pop().expect("it comes again");
    assert_eq!((id(&again).as_str(), again.message.is_redelivered), (message.id(), true));
    again.acknowledgement.acknowledge().await.expect("the broker hears of it");
    nothing_is_left(&origin).await;
}

/// Each of many, and never more at once than was asked for.
pub async fn many_arrive_and_no_more_at_once_than_asked_for<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let mut ids = BTreeSet::new();
    for _ in 0..500 {
        let message = message("{}");
        ids.insert(message.id().to_owned());
        origin.publish(&message).await;
    }
    let mut came = BTreeSet::new();
    while came.len() < ids.len() {
        let deliveries = receive(&source, 30).await;
        assert!((1..=30).contains(&deliveries.len()), "{} at once", deliveries.len());
        for delivery in deliveries {
            came.insert(id(&delivery));
            delivery.acknowledgement.acknowledge().await.expect("the broker hears of it");
        }
    }
    assert_eq!(came, ids);
    nothing_is_left(&origin).await;
}

/// A call that was dropped while it waited took nothing with it: what comes next is received by the next call, and not only when the broker
/// delivers it again.
pub async fn receiving_that_is_dropped_loses_nothing<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        assert!(timeout(Duration::from_millis(1), source.receive(10)).await.is_err(), "nothing is there");
        let message = message("{}");
        ids.insert(message.id().to_owned());
        origin.publish(&message).await;
        let delivery = receive(&source, 10).await.pop().expect("one came");
        assert!(!delivery.message.is_redelivered, "it was lost, and came again");
        assert!(ids.remove(&id(&delivery)));
        delivery.acknowledgement.acknowledge().await.expect("the broker hears of it");
    }
    nothing_is_left(&origin).await;
}
