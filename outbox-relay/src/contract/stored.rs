//! The clauses about messages.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use outbox::Metadata;

use super::{Broker, ELSEWHERE, PREFIX, connected, envelope, message, outgoing, publish, times};
use crate::transport::{Confirmed, NotConfirmed};

/// A confirm means that the broker holds the message, under the event's id and its route.
pub async fn what_is_confirmed_is_stored<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let message = message("{}");
    assert_eq!(publish(&transport, &message).await, Ok(Confirmed::new()));
    let stored = broker.stored().await;
    let known: Vec<_> = stored.iter().map(|stored| (stored.id.as_str(), stored.route.as_str())).collect();
    assert_eq!(known, [(message.id_text(), "contract.order.placed.v1")]);
}

/// Payloads arrive byte for byte, attributes character for character, whatever they hold.
pub async fn payload_and_attributes_arrive_intact<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let odd = "a\"b%20\\ \u{e9}\u{1f980}\r\nce-id: forged";
    let mut context = Metadata::new().actor(odd).tenant("").correlation(odd).header(odd, odd);
    context.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    context.tracestate = Some("a=1,b=2".to_owned());
    let payloads =
        ["{}", " {\"a\" :\t1.0e+2,\n\"\u{e9}\":\"\\u0000\u{1f980}\"} ", &format!("\"{}\"", "x".repeat(200_000))];
    for payload in payloads {
        let message = outgoing(PREFIX, &envelope(context.clone(), payload));
        publish(&transport, &message).await.expect("odd text is no reason to refuse");
        let stored = broker.stored().await.pop().expect("it was confirmed");
        assert_eq!(stored.id, message.id_text());
        assert!(stored.payload == payload.as_bytes(), "the payload of {} bytes changed", payload.len());
        let sent: BTreeMap<_, _> =
            message.attributes().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        assert_eq!(stored.attributes, sent);
        assert_eq!(stored.content_type, "application/json");
        assert_eq!(stored.traceparent, context.traceparent);
    }
}

/// What no queue or stream takes is not confirmed. It is when something takes it, and is then there once.
pub async fn what_nothing_takes_is_a_failure_until_something_does<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let lost = outgoing(ELSEWHERE, &envelope(Metadata::new(), "{}"));
    for _ in 0..2 {
        match publish(&transport, &lost).await {
            Err(NotConfirmed::Unroutable { route, .. }) => assert_eq!(route, "elsewhere.order.placed.v1"),
            other => panic!("nothing takes it, and the answer was {other:?}"),
        }
    }
    // It is the message's failure alone.
    publish(&transport, &message("{}")).await.expect("others pass");
    broker.take_elsewhere().await;
    publish(&transport, &lost).await.expect("something takes it now");
    assert_eq!(times(&broker).await[lost.id_text()], 1);
}

/// A message that is too large is refused for good, and the connection is still good for others.
pub async fn what_is_too_large_is_unsendable_and_others_pass<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let large = message(&format!("\"{}\"", "x".repeat(broker.too_large())));
    match publish(&transport, &large).await {
        Err(NotConfirmed::Unsendable(_)) => {}
        other => panic!("it is too large, and the answer was {other:?}"),
    }
    let small = message("{}");
    publish(&transport, &small).await.expect("others pass");
    assert_eq!(transport_losses(&transport), 0, "the connection was lost by it");
    assert_eq!(times(&broker).await, BTreeMap::from([(small.id_text().to_owned(), 1)]));
}

/// Published again, as behind a confirm that was lost, a message is confirmed again, and known by its id.
pub async fn an_id_that_comes_twice_is_confirmed_twice<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let message = message("{}");
    assert_eq!(publish(&transport, &message).await, Ok(Confirmed::new()));
    assert_eq!(publish(&transport, &message).await, Ok(Confirmed::duplicate(B::DEDUPLICATES)));
    let expected = if B::DEDUPLICATES { 1 } else { 2 };
    assert_eq!(times(&broker).await, BTreeMap::from([(message.id_text().to_owned(), expected)]));
}

/// Each waited for before the next is sent.
pub async fn messages_one_after_another_keep_their_order<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let mut sent = Vec::new();
    for _ in 0..50 {
        let message = message("{}");
        publish(&transport, &message).await.expect("it is confirmed");
        sent.push(message.id_text().to_owned());
    }
    let stored: Vec<_> = broker.stored().await.into_iter().map(|stored| stored.id).collect();
    assert_eq!(stored, sent);
}

/// Confirms that come together, or for many at once, each find their own message: those that nothing takes, and no other, are refused.
pub async fn many_at_once_are_each_confirmed<B: Broker>() {
    let broker = B::shared().await;
    let transport = connected(&broker).await;
    let messages: Vec<_> = (0..500)
        .map(|n| outgoing(if n % 10 == 3 { ELSEWHERE } else { PREFIX }, &envelope(Metadata::new(), "{}")))
        .collect();
    let answers = join_all(messages.iter().map(|message| publish(&transport, message))).await;
    let stored = times(&broker).await;
    for (message, answer) in messages.iter().zip(&answers) {
        assert_eq!(answer.is_ok(), message.route().starts_with(PREFIX), "{message:?}: {answer:?}");
        assert_eq!(stored.get(message.id_text()), answer.is_ok().then_some(&1), "{message:?}: {answer:?}");
    }
}

fn transport_losses(transport: &impl crate::Transport) -> u64 {
    transport.link().status().losses
}
