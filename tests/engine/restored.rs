//! A dump that was loaded into another cluster.

use outbox::PublishError;
use sqlx::Connection;

use crate::support::{OrderPlaced, Shop};

/// A fence from a cluster whose transaction numbers are further on would refuse every publisher above READ COMMITTED for a long
/// time; opening an outbox takes it back.
#[tokio::test]
async fn a_fence_of_another_cluster_is_taken_back() {
    let shop = Shop::new().await;
    let before = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    shop.sandbox
        .execute(
            "select setval(':schema.catalogue_fence', 1000000000000);
             update :schema.subscription set barrier_xid = '1000000000000', barrier_holders = '{}'",
        )
        .await;
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    let mut tx = connection.begin_with("begin isolation level repeatable read").await.unwrap();
    let refused = before.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(refused, PublishError::StaleSnapshot { .. }), "{refused}");
    tx.rollback().await.unwrap();

    let after = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let mut tx = connection.begin_with("begin isolation level repeatable read").await.unwrap();
    after.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
    let waiting = "select count(*) from :schema.subscription where barrier_xid is not null";
    assert_eq!(shop.sandbox.number(waiting).await, 0, "its backfill begins anew");
}
