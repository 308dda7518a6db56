//! backfill beside a worker that is already at work.

use std::sync::Arc;

use outbox::prelude::*;
use outbox_testing::eventually;
use sqlx::Executor;
use tokio::sync::Notify;

use crate::support::{OrderPlaced, Shop, publish};

#[derive(Clone, Default)]
struct Gate(Arc<Notify>);

#[subscriber(event = "order.placed", name = "gated.handle", idempotent = "does nothing")]
async fn handle(_order: OrderPlaced, State(gate): State<Gate>) -> HandlerResult {
    gate.0.notified().await;
    Ok(())
}

/// S0-10: a job that moves from live to finished while backfill is at it is seen in one place or the other, so there is exactly
/// one job for each event and subscriber. (With the finished jobs looked for in the snapshot, and the live ones by the unique
/// key alone, such a job was in neither, and was written again.)
#[tokio::test]
async fn a_job_that_finishes_meanwhile_is_not_written_again() {
    let (shop, gate) = (Shop::new().await, Gate::default());
    let outbox = shop.outbox(&["gated.handle"]).state(gate.clone()).build().await.unwrap();
    publish(&outbox, "o1").await;
    // Whoever writes a live job from now on waits here, in front of the unique key.
    shop.sandbox
        .execute(
            "create function :schema.wait() returns trigger language plpgsql as
             'begin perform pg_advisory_xact_lock_shared(hashtext(tg_table_schema)); return new; end';
             create trigger wait before insert on :schema.job_live for each row execute function :schema.wait()",
        )
        .await;
    let mut barrier = shop.sandbox.pool().begin().await.unwrap();
    let lock = format!("select pg_advisory_xact_lock(hashtext('{}'))", shop.sandbox.schema());
    barrier.execute(sqlx::AssertSqlSafe(lock)).await.unwrap();
    let waiting = format!(
        "select count(*) from pg_locks where locktype = 'advisory' and not granted and objid::bigint = hashtext('{}')::bigint & 4294967295",
        shop.sandbox.schema()
    );
    let backfilled = "select count(*) from :schema.subscription where backfilled_at is not null";
    let meanwhile = async {
        eventually("backfill waits or is done", async || {
            (shop.sandbox.number(&waiting).await + shop.sandbox.number(backfilled).await > 0).then_some(())
        })
        .await;
        gate.0.notify_one();
        eventually("the job has finished", async || (shop.sandbox.jobs().await.succeeded() > 0).then_some(())).await;
        barrier.rollback().await.unwrap();
        eventually("the activation is backfilled", async || (shop.sandbox.number(backfilled).await == 1).then_some(()))
            .await;
    };
    outbox.run(meanwhile).await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}
