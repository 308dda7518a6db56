//! The clauses about servers and networks that go away.

use std::time::Duration;

use tokio::time::timeout;

use super::{Broker, PATIENCE, Proxy, SILENCE, connected, message, publish, publish_at_last, times};
use crate::transport::{NotConfirmed, Transport as _};

/// A server that was killed is unreachable, soon and without hanging; what was confirmed is still there when it is back; the transport comes
/// back by itself, and the time between is measured.
pub async fn a_killed_server_is_unreachable_and_comes_back<B: Broker>() {
    let mut broker = B::start().await;
    let transport = connected(&broker).await;
    let before = message("{}");
    publish(&transport, &before).await.expect("it is confirmed");
    broker.kill().await;
    timeout(PATIENCE, transport.link().down()).await.expect("the loss is noticed");
    for _ in 0..3 {
        match publish(&transport, &message("{}")).await {
            Err(NotConfirmed::Unreachable(_)) => {}
            other => panic!("nobody is there, and the answer was {other:?}"),
        }
    }
    let down = transport.link().status();
    assert!(down.down_for.is_some() && down.losses == 1, "{down:?}");
    broker.restart().await;
    let after = message("{}");
    publish_at_last(&transport, &after).await;
    let up = transport.link().status();
    assert!(up.down_for.is_none() && up.down_total >= down.down_total, "{up:?} behind {down:?}");
    let stored = times(&broker).await;
    assert_eq!((stored.get(before.id_text()), stored.contains_key(after.id_text())), (Some(&1), true));
}

/// A server that says nothing has confirmed nothing; when it goes on, the transport is used again, in whatever state it was dropped.
pub async fn a_frozen_server_confirms_nothing_and_is_used_again<B: Broker>() {
    let broker = B::start().await;
    let transport = connected(&broker).await;
    publish(&transport, &message("{}")).await.expect("it is confirmed");
    broker.freeze();
    let silent = message("{}");
    let answer = timeout(SILENCE, transport.publish(&silent)).await;
    broker.thaw();
    assert!(!matches!(answer, Ok(Ok(_))), "nobody can have confirmed it: {answer:?}");
    publish_at_last(&transport, &silent).await;
    let stored = times(&broker).await[silent.id_text()];
    assert!(stored == 1 || !B::DEDUPLICATES, "stored {stored} times");
}

/// The network swallows the confirm of a message that was stored, and then the connection. It is published again under the same id.
pub async fn a_confirm_that_is_lost_is_none_and_the_id_stays<B: Broker>() {
    let broker = B::start().await;
    let proxy = Proxy::to(broker.address()).await;
    let transport = broker.transport(proxy.address()).await;
    timeout(PATIENCE, transport.link().up()).await.expect("the transport connects");
    publish(&transport, &message("{}")).await.expect("it is confirmed");
    proxy.swallow_answers(true);
    let lost = message("{}");
    let publishing = transport.publish(&lost);
    let stored = async {
        while !times(&broker).await.contains_key(lost.id_text()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        answer = publishing => panic!("its confirm is lost, and the answer was {answer:?}"),
        stored = timeout(PATIENCE, stored) => stored.expect("it is stored all the same"),
    }
    proxy.swallow_answers(false);
    proxy.cut();
    let again = publish_at_last(&transport, &lost).await;
    assert_eq!(again.is_duplicate, B::DEDUPLICATES);
    assert_eq!(times(&broker).await[lost.id_text()], if B::DEDUPLICATES { 1 } else { 2 });
}

/// A service starts while its broker is away, and its first message goes when the broker is there.
pub async fn it_begins_without_a_server<B: Broker>() {
    let mut broker = B::start().await;
    broker.kill().await;
    let transport = timeout(PATIENCE, broker.transport(broker.address())).await.expect("it waits for no server");
    let first = message("{}");
    assert!(matches!(publish(&transport, &first).await, Err(NotConfirmed::Unreachable(_))));
    broker.restart().await;
    publish_at_last(&transport, &first).await;
    assert_eq!(times(&broker).await[first.id_text()], 1);
}
