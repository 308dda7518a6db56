//! One module with two handlers of one event.

use chrono::{DateTime, Days};

use storefront_testing::{Shop, an_order, place};

const CROSS_SELL: &str = "automation.evaluate_cross_sell_signal";
const CART: &str = "automation.resolve_abandoned_cart";

/// S0-16: both handlers of the module have a job of their own, and each has its effect.
#[tokio::test]
async fn both_handlers_run() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    let mut connection = shop.pool().acquire().await.unwrap();
    automation::abandon_cart(&mut connection, "VINET", order.placed_at).await.unwrap();
    let later = order.placed_at.checked_add_days(Days::new(1)).unwrap();
    automation::abandon_cart(&mut connection, "VINET", later).await.unwrap();
    automation::abandon_cart(&mut connection, "TOMSP", DateTime::UNIX_EPOCH).await.unwrap();
    place(&outbox, &order).await;
    outbox.drain().await.unwrap();
    let pairs: Vec<(String, String, i64)> =
        sqlx::query_as("select sku, with_sku, orders from automation.cross_sell").fetch_all(shop.pool()).await.unwrap();
    assert_eq!(pairs, [("11".to_owned(), "14".to_owned(), 1)]);
    let resolved: Vec<(String, String)> =
        sqlx::query_as("select customer_id, resolved_by from automation.cart where resolved_by is not null")
            .fetch_all(shop.pool())
            .await
            .unwrap();
    assert_eq!(resolved, [("VINET".to_owned(), "10248".to_owned())], "neither a later cart nor somebody else's");
}

/// S0-16: what befalls one of the two is nothing to the other.
#[tokio::test]
async fn one_fails_without_the_other() {
    let shop = Shop::open().await;
    shop.execute("alter table automation.cart rename to away").await;
    let outbox = shop.worker().modules(["automation"]).build().await.unwrap();
    place(&outbox, &an_order("10248")).await;
    outbox.drain().await.unwrap();
    assert_eq!(shop.status_of(CROSS_SELL).await, "succeeded");
    assert_eq!(shop.status_of(CART).await, "pending");
}

/// Either handler runs twice without a second effect: the one by its transaction, the other by what it does.
#[tokio::test]
async fn both_run_twice() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    place(&outbox, &order).await;
    let event = orders::OrderPlaced::from(&order);
    let effect = || shop.number("select coalesce(sum(orders), 0)::bigint from automation.cross_sell");
    outbox_testing::deliver_twice(&outbox, CROSS_SELL, &event, async || effect().await).await;
    let effect = || shop.number("select count(*) from automation.cart where resolved_by is not null");
    outbox_testing::deliver_twice(&outbox, CART, &event, async || effect().await).await;
}
