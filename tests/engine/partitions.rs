//! The tables by day: there ahead of time, and no publish waits for one.

use crate::sql::{refusal, texts};
use crate::support::{OrderPlaced, Shop, publish};

const RESTRICT_VIOLATION: &str = "23001";

/// The tables in which events and jobs stand.
async fn homes(shop: &Shop) -> Vec<String> {
    let text =
        "select tableoid::regclass::text from :schema.event union all select tableoid::regclass::text from :schema.job";
    texts(&shop.sandbox, text).await
}

/// Partitions are there for days to come, making them again makes none, and one that is made later refuses TRUNCATE too
/// (S0-3).
#[tokio::test]
async fn partitions_are_made_ahead_and_once() {
    let shop = Shop::new().await;
    assert_eq!(shop.sandbox.number("select :schema.ensure_partitions()::bigint").await, 0);
    let made = shop.sandbox.number("select :schema.ensure_partitions('40 days')::bigint").await;
    assert!(made >= 26 + 3, "{made}");
    let events = texts(
        &shop.sandbox,
        &format!(
            "select inhrelid::regclass::text from pg_inherits where inhparent = '{}'::regclass",
            shop.sandbox.table("event")
        ),
    )
    .await;
    assert!(events.len() >= 6, "{events:?}");
    for partition in events {
        assert_eq!(refusal(&shop.sandbox, &format!("truncate {partition}")).await, RESTRICT_VIOLATION, "{partition}");
    }
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let homes = homes(&shop).await;
    assert!(homes.iter().all(|home| !home.ends_with("_default")), "{homes:?}");
}

/// A publish never depends on upkeep: without a partition for it the row goes into the default one, and the partition
/// that can then not be made any more stops neither publish nor the others.
#[tokio::test]
async fn a_missing_partition_stops_no_publish() {
    let shop = Shop::new().await;
    let drop_all = format!(
        "do $$ declare it regclass; begin
           for it in select inhrelid::regclass from pg_inherits
                     where inhparent in ('{}'::regclass, '{}'::regclass) and inhrelid::regclass::text not like '%_default'
           loop execute format('drop table %s', it); end loop; end $$",
        shop.sandbox.table("event"),
        shop.sandbox.table("job_succeeded"),
    );
    shop.sandbox.execute(&drop_all).await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let homes = homes(&shop).await;
    assert!(homes.iter().all(|home| home.ends_with("_default")), "{homes:?}");
    let made = shop.sandbox.number("select :schema.ensure_partitions()::bigint").await;
    assert!(made >= 14, "those that can be made are: {made}");
    publish(&outbox, "o2").await;
    outbox.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 2);
}

/// Making partitions does not wait behind a publisher whose transaction is open, and a publisher does not wait for it.
#[tokio::test]
async fn partitions_are_made_beside_open_publishers() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let mut open = outbox.begin().await.unwrap();
    outbox.publish(&mut open, &OrderPlaced::of("o1")).await.unwrap();
    let made = shop.sandbox.number("select :schema.ensure_partitions('30 days')::bigint").await;
    assert!(made > 0);
    publish(&outbox, "o2").await;
    open.commit().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 2);
}
