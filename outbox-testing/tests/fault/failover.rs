//! The engine through a failover.

use outbox_testing::eventually;
use outbox_testing::fault::{Point, Proxy};
use outbox_testing::server::{Options, Replication, Server};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::worker::{self, Asked};

const SCHEMA: &str = "failover";

/// The primary is killed while a worker works and a publisher publishes, and its synchronous replica takes over under the same
/// address: every publish that was answered is there, each job of it succeeds, each transactional effect is there once.
#[tokio::test]
async fn a_synchronous_failover_loses_nothing() {
    let (mut primary, mut replica) = blocking(|| {
        let mut primary = Server::start(&Options::default()).unwrap();
        let replica = primary.replica(Replication::Synchronous).unwrap();
        (primary, replica)
    })
    .await;
    let proxy = Proxy::start(primary.url()).unwrap();
    let pool = PgPoolOptions::new().max_connections(20).connect(&proxy.url()).await.unwrap();
    outbox::migrate_schema(&pool, SCHEMA).await.unwrap();
    sqlx::query("create table failover.effect (handler text, label text)").execute(&pool).await.unwrap();
    let outbox = worker::outbox(&pool, SCHEMA).build().await.unwrap();
    let worker = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.run(std::future::pending()).await }
    });
    let mut answered = Vec::new();
    let publish = async |label: String| {
        let mut tx = outbox.begin().await?;
        outbox.publish(&mut tx, &Asked { label: label.clone() }).await.map_err(sqlx::Error::decode)?;
        tx.commit().await.map(|()| label)
    };
    for number in 0..20 {
        answered.push(publish(format!("before {number}")).await.unwrap());
    }
    // One claim is committed and one settle is under way when the primary dies.
    let claimed = proxy.hold_at(Point::after("claim"));
    answered.push(publish("in the middle".to_owned()).await.unwrap());
    claimed.until_reached().await;
    let replica = blocking(move || {
        primary.kill().unwrap();
        replica.promote().unwrap();
        replica
    })
    .await;
    proxy.point_to(replica.url()).unwrap();
    proxy.all().cut();
    drop(claimed);
    for number in 0..20 {
        let label = format!("after {number}");
        // The pool may hand out connections that are gone.
        let label = eventually("publishing works again", async || publish(label.clone()).await.ok()).await;
        answered.push(label);
    }
    let past = PgPool::connect(replica.url()).await.unwrap();
    for (handler, at_most) in [("in_transaction", 1), ("plain", 2)] {
        for label in &answered {
            let effects =
                eventually("the effect is there", async || Some(count(&past, handler, label).await).filter(|n| *n > 0));
            let effects = effects.await;
            assert!(effects <= at_most, "{effects} effects of {handler} for `{label}`");
        }
    }
    let live = "select count(*) from failover.job where status <> 'succeeded'";
    eventually("nothing is left", async || {
        (sqlx::query_scalar::<_, i64>(live).fetch_one(&past).await.unwrap() == 0).then_some(())
    })
    .await;
    worker.abort();
}

async fn count(pool: &PgPool, handler: &str, label: &str) -> i64 {
    let text = format!("select count(*) from {SCHEMA}.effect where handler = $1 and label = $2");
    sqlx::query_scalar(AssertSqlSafe(text)).bind(handler).bind(label).fetch_one(pool).await.unwrap()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
