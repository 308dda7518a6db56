//! Stock is taken by the order's rows, in the job's own transaction.

use inventory::finalize_stock_decrement;
use orders::OrderPlaced;
use outbox::Tx;

use storefront_testing::{Shop, an_order, place};

const HANDLER: &str = "inventory.finalize_stock_decrement";

async fn taken(shop: &Shop) -> Vec<(String, i64)> {
    let taken = sqlx::query_as("select sku, taken from inventory.stock order by sku");
    taken.fetch_all(shop.pool()).await.expect("stock can be read")
}

/// S0-35: the rows are the truth: what was changed since the event was published is what counts.
#[tokio::test]
async fn the_rows_are_the_truth() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    place(&outbox, &an_order("10248")).await;
    sqlx::query("update orders.line set quantity = 7 where sku = '11'").execute(shop.pool()).await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(taken(&shop).await, [("11".to_owned(), 7), ("14".to_owned(), 5)]);
}

/// S0-35: it is the job's own transaction: what the handler did is there only when that commits. The handler is an ordinary
/// function, so a test calls it.
#[tokio::test]
async fn the_transaction_is_the_jobs() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    place(&outbox, &order).await;
    let mut transaction = shop.pool().begin().await.unwrap();
    finalize_stock_decrement(OrderPlaced::from(&order), Tx::from(&mut transaction)).await.unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(taken(&shop).await, []);
}

/// S0-35: an event whose order has no rows takes nothing, and says so.
#[tokio::test]
async fn no_rows_no_stock() {
    let shop = Shop::open().await;
    let mut transaction = shop.pool().begin().await.unwrap();
    let event = OrderPlaced::from(&an_order("10248"));
    let error = finalize_stock_decrement(event, Tx::from(&mut transaction)).await.unwrap_err();
    assert_eq!(error.to_string(), "order `10248` has no lines");
}

/// A second delivery of the same event takes nothing.
#[tokio::test]
async fn a_second_delivery_takes_nothing() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    let mut tx = outbox.begin().await.unwrap();
    orders::draft_order(&mut tx, &order).await.unwrap();
    tx.commit().await.unwrap();
    let effect = async || taken(&shop).await;
    let seen = outbox_testing::deliver_twice(&outbox, HANDLER, &OrderPlaced::from(&order), effect).await;
    assert_eq!(seen.twice, [("11".to_owned(), 12), ("14".to_owned(), 5)]);
}
