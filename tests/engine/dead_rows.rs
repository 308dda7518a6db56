//! Dead rows of live jobs: a busy worker vacuums the table, where it may.

use outbox_testing::{Sandbox, eventually};

use crate::floor::Worker;
use crate::support::{Shop, publish};

/// So many dead rows that a vacuum is worth its while, and nobody else who takes them away.
async fn with_dead_rows() -> Shop {
    let shop = Shop::new().await;
    shop.sandbox.execute("alter table :schema.job_live set (autovacuum_enabled = off)").await;
    let fill = "insert into :schema.job_live (id, event_id, job_type, max_attempts)
                select gen_random_uuid(), gen_random_uuid(), 'a.b', 1 from generate_series(1, 60000)";
    shop.sandbox.execute(fill).await;
    shop.sandbox.execute("delete from :schema.job_live").await;
    eventually("they are counted as dead", async || (dead(&shop.sandbox).await >= 60_000).then_some(())).await;
    shop
}

async fn dead(sandbox: &Sandbox) -> i64 {
    sandbox.number(&format!("select pg_stat_get_dead_tuples('{}'::regclass)", sandbox.table("job_live"))).await
}

async fn vacuums(sandbox: &Sandbox) -> i64 {
    sandbox.number(&format!("select pg_stat_get_vacuum_count('{}'::regclass)", sandbox.table("job_live"))).await
}

/// A worker that has work and finds many dead rows takes them away, also through a transaction pooler.
#[tokio::test]
async fn a_busy_worker_vacuums_live_jobs() {
    let shop = with_dead_rows().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    publish(&outbox, "o1").await;
    eventually("it has vacuumed", async || (vacuums(&shop.sandbox).await == 1).then_some(())).await;
    eventually("they are gone", async || (dead(&shop.sandbox).await < 1_000).then_some(())).await;
    worker.stop().await;
}
