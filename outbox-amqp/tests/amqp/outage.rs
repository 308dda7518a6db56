//! A broker that is away: nothing is charged, nothing is lost, nothing is marked before its confirm.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_relay::CircuitState;
use outbox_relay::contract::{Broker as _, PATIENCE};

use crate::relay::Floor;
use crate::server::Server;

/// Short, so that a test sees many of them.
const PAUSE: Duration = Duration::from_millis(50);

/// S2-20, O15: the broker is killed for longer than every backoff together (two retries, a second each, are all that the handler has).
/// Nothing is charged and nothing marked; when it is back, everything arrives, and each under its own id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_was_killed_charges_nothing_and_everything_arrives() {
    let short = Duration::from_millis(300);
    let server = Server::start().await;
    // A confirm takes its time on a busy machine; a killed one is noticed by its connection.
    let settings = |relay: outbox_relay::RelayBuilder<_>| relay.pauses(PAUSE, 4 * PAUSE).hold(short).window(16);
    let mut floor = Floor::with(server, settings).await;
    let worker = floor.work();
    let mut ids = BTreeSet::from([floor.order(0).await.to_string()]);
    floor.until_succeeded(1).await;
    floor.server.kill().await;
    for order in 1..40 {
        ids.insert(floor.order(order).await.to_string());
    }
    let paused = async {
        while floor.relay.status().pauses_in_a_row < 12 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, paused).await.expect("the relay looks after the broker");
    let charged = "select count(*) from :schema.job_live where status = 'pending' and attempts > 0";
    assert_eq!((floor.sandbox.number(charged).await, floor.succeeded().await), (0, 1));
    assert_eq!(floor.sandbox.jobs().await.failed(), 0);
    assert!(floor.relay.status().link.down_for.is_some());
    floor.server.restart().await;
    floor.until_succeeded(40).await;
    worker.abort();
    let arrived: BTreeSet<_> = floor.server.stored().await.into_iter().map(|stored| stored.id).collect();
    assert_eq!(arrived, ids);
    assert_eq!(floor.sandbox.number("select max(attempts)::bigint from :schema.job_succeeded").await, 1);
    assert_eq!((floor.relay.status().circuit, floor.relay.status().link.down_for), (CircuitState::Closed, None));
}
