//! The clauses about servers and networks that go away.

use std::collections::BTreeSet;

use tokio::time::timeout;

use super::{Origin, PATIENCE, Proxy, consuming, down, message, nothing_is_left, receive, take, up};
use crate::source::Source as _;

/// Whatever it had received and not acknowledged.
pub async fn what_a_process_that_ended_held_comes_again<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let message = message("{}");
    origin.publish(&message).await;
    let held = receive(&source, 1).await;
    drop((source, held));
    let source = consuming(&origin).await;
    take(&source, &BTreeSet::from([message.id().to_owned()])).await;
    nothing_is_left(&origin).await;
}

/// A server that was killed is noticed, the time until it is back is measured, and what it has then is consumed: what was there before, what
/// was in hand, and what comes later.
pub async fn a_killed_server_is_noticed_and_consumed_from_again<O: Origin>() {
    let mut origin = O::start().await;
    let source = consuming(&origin).await;
    let [in_hand, before, after] = [message("{}"), message("{}"), message("{}")];
    origin.publish(&in_hand).await;
    let held = receive(&source, 1).await.pop().expect("one came");
    origin.publish(&before).await;
    origin.kill().await;
    down(&source).await;
    let lost = source.link().status();
    assert!(lost.down_for.is_some() && lost.losses == 1, "{lost:?}");
    // Its connection is gone: there is nobody to be told, and nobody is waited for without end.
    let told =
        timeout(PATIENCE, held.acknowledgement.acknowledge()).await.expect("nobody waits for a broker that is away");
    assert!(told.is_err(), "there is nobody to be told");
    origin.restart().await;
    up(&source).await;
    let back = source.link().status();
    assert!(back.down_for.is_none() && back.down_total > lost.down_total, "{back:?} behind {lost:?}");
    origin.publish(&after).await;
    take(&source, &[in_hand, before, after].iter().map(|one| one.id().to_owned()).collect()).await;
    nothing_is_left(&origin).await;
}

/// A server whose connection stands and that says nothing is no server: the source is down until it says something again.
pub async fn a_frozen_server_is_noticed_and_consumed_from_again<O: Origin>() {
    let origin = O::start().await;
    let source = consuming(&origin).await;
    let before = message("{}");
    origin.publish(&before).await;
    take(&source, &BTreeSet::from([before.id().to_owned()])).await;
    origin.freeze();
    let noticed = timeout(PATIENCE, source.link().down()).await;
    origin.thaw();
    noticed.expect("its silence is noticed");
    up(&source).await;
    let after = message("{}");
    origin.publish(&after).await;
    take(&source, &BTreeSet::from([after.id().to_owned()])).await;
}

/// The network between them.
pub async fn a_connection_that_is_cut_is_made_again<O: Origin>() {
    let origin = O::start().await;
    let proxy = Proxy::to(origin.address()).await;
    let source = origin.source(proxy.address()).await;
    up(&source).await;
    for cuts in 1..=3 {
        proxy.cut();
        let again = async {
            while source.link().status().losses < cuts || !source.link().is_up() {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, again).await.expect("it consumes again");
        let message = message("{}");
        origin.publish(&message).await;
        take(&source, &BTreeSet::from([message.id().to_owned()])).await;
    }
}

/// A service starts while its broker is away, and consumes when it is there.
pub async fn it_begins_without_a_server<O: Origin>() {
    let mut origin = O::start().await;
    let message = message("{}");
    origin.publish(&message).await;
    origin.kill().await;
    let source = timeout(PATIENCE, origin.source(origin.address())).await.expect("it waits for no server");
    assert!(!source.link().is_up());
    origin.restart().await;
    take(&source, &BTreeSet::from([message.id().to_owned()])).await;
}
