//! A broker that is away: nothing is charged, nothing is lost, nothing is marked before its confirm.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_relay::CircuitState;
use outbox_relay::contract::Broker as _;

use crate::relay::Floor;

/// Short, so that a test sees many of them.
const PAUSE: Duration = Duration::from_millis(50);

async fn floor() -> Floor {
    let short = Duration::from_millis(300);
    Floor::with(|relay| relay.pauses(PAUSE, 4 * PAUSE).hold(short).confirm_timeout(short).window(16)).await
}

impl Floor {
    /// How often jobs were given back, by now: each time moves one of them on.
    async fn steps_back(&self) -> i64 {
        let moved = "select count(*) from :schema.job_live where status = 'pending' and available_at > created_at";
        self.sandbox.number(moved).await
    }

    async fn charged(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.job_live where status = 'pending' and attempts > 0").await
    }

    /// Until the relay has looked after the broker so often.
    async fn until_pauses(&self, count: u32) {
        outbox_testing::eventually("the relay has looked after the broker some times", async || {
            (self.relay.status().pauses_in_a_row >= count).then_some(())
        })
        .await;
    }

    async fn all_arrived(&self, ids: &BTreeSet<String>) {
        self.until_succeeded(i64::try_from(ids.len()).unwrap()).await;
        let stored = self.stored().await;
        let arrived: BTreeSet<_> = stored.iter().map(|stored| stored.id.clone()).collect();
        assert_eq!((&arrived, stored.len()), (ids, ids.len()), "each once");
        let attempts = "select max(attempts)::bigint from :schema.job_succeeded";
        assert_eq!(self.sandbox.number(attempts).await, 1, "the one that succeeded");
        let status = self.relay.status();
        assert_eq!((status.circuit, status.link.down_for), (CircuitState::Closed, None));
    }
}

/// S2-20, O15: the broker is killed for longer than every backoff together (two retries, a second each, are all that the handler has).
/// Nothing is charged and nothing marked; when it is back, everything arrives once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_was_killed_charges_nothing_and_everything_arrives() {
    let mut floor = floor().await;
    let worker = floor.work();
    let mut ids = BTreeSet::from([floor.order(0).await.to_string()]);
    floor.until_succeeded(1).await;
    floor.server.kill().await;
    for order in 1..40 {
        ids.insert(floor.order(order).await.to_string());
    }
    floor.until_pauses(12).await;
    outbox_testing::eventually("jobs were given back", async || (floor.steps_back().await > 10).then_some(())).await;
    assert_eq!((floor.charged().await, floor.succeeded().await), (0, 1));
    assert_eq!(floor.sandbox.jobs().await.failed(), 0);
    assert!(floor.relay.status().link.down_for.is_some());
    floor.server.restart().await;
    floor.all_arrived(&ids).await;
    assert_eq!(floor.relay.status().failures_in_a_row, 0);
    worker.abort();
}

/// S2-17, O14: the same of one that is frozen, whose connection stands: nothing is marked that is not confirmed, and what it stored before its
/// confirm was lost is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_frozen_charges_nothing_and_everything_arrives() {
    let floor = floor().await;
    let worker = floor.work();
    let mut ids = BTreeSet::from([floor.order(0).await.to_string()]);
    floor.until_succeeded(1).await;
    floor.server.freeze();
    for order in 1..40 {
        ids.insert(floor.order(order).await.to_string());
    }
    floor.until_pauses(4).await;
    let (charged, succeeded) = (floor.charged().await, floor.succeeded().await);
    floor.server.thaw();
    assert_eq!((charged, succeeded), (0, 1));
    floor.all_arrived(&ids).await;
    worker.abort();
}

/// S2-18, B16c: a worker whose lease ended while its message was on its way marks nothing; who has the job now sends it again, under its id,
/// and that the stream had it already counts as confirmed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_lost_its_lease_marks_nothing() {
    let floor = Floor::with(|relay| relay.confirm_timeout(Duration::from_secs(20))).await;
    let worker = floor.work();
    floor.order(0).await;
    floor.until_succeeded(1).await;
    floor.server.freeze();
    let id = floor.order(1).await.to_string();
    outbox_testing::eventually("it is on its way", async || (floor.relay.status().under_way == 1).then_some(())).await;
    // As a rescue does it, when the worker's lease has ended.
    let taken = "update :schema.job_live set claim_id = gen_random_uuid() where status = 'running'";
    floor.sandbox.execute(taken).await;
    floor.server.thaw();
    outbox_testing::eventually("it is confirmed", async || (floor.relay.status().confirmed == 2).then_some(())).await;
    outbox_testing::eventually("its slot is free", async || (floor.relay.status().under_way == 0).then_some(())).await;
    worker.abort();
    let _ = worker.await;
    assert_eq!((floor.succeeded().await, floor.sandbox.jobs().await.count("running")), (1, 1));
    let back = "update :schema.job_live set status = 'pending', claim_id = null, attempts = 0 where status = 'running'";
    floor.sandbox.execute(back).await;
    floor.outbox.drain().await.unwrap();
    assert_eq!(floor.succeeded().await, 2);
    assert_eq!(floor.relay.status().duplicates, 1);
    assert_eq!(floor.stored().await.iter().filter(|stored| stored.id == id).count(), 1);
}
