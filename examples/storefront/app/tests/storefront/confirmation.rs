//! One confirmation an order, whoever asks how often.

use std::time::Duration;

use notifications::{Mailer, send_order_confirmation};
use orders::OrderPlaced;
use outbox::{IdempotencyKey, State, Tx};
use sqlx::PgPool;

use storefront_testing::{Shop, an_order};

async fn send(pool: &PgPool, key: &str) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin().await?;
    let mailer = Mailer::new(pool.clone(), Duration::from_millis(50));
    let order = OrderPlaced::from(&an_order("10248"));
    send_order_confirmation(order, Tx::from(&mut transaction), State(mailer), IdempotencyKey::new(key)).await?;
    transaction.commit().await
}

async fn letters(shop: &Shop) -> i64 {
    shop.number("select count(*) from notifications.postbox").await
}

/// S0-34: whether this order's confirmation was already sent is known before it is sent, even to an event that is another.
#[tokio::test]
async fn a_confirmed_order_is_not_confirmed_again() {
    let shop = Shop::open().await;
    send(shop.pool(), "first").await.unwrap();
    send(shop.pool(), "second").await.unwrap();
    assert_eq!(letters(&shop).await, 1);
    assert_eq!(shop.number("select count(*) from notifications.sent_confirmation").await, 1);
}

/// S0-34: check and mark are one: of two that ask at the same moment, one sends.
#[tokio::test]
async fn of_two_at_once_one_sends() {
    let shop = Shop::open().await;
    let (first, second) = tokio::join!(send(shop.pool(), "first"), send(shop.pool(), "second"));
    first.unwrap();
    second.unwrap();
    assert_eq!(letters(&shop).await, 1);
    assert_eq!(shop.number("select sum(requests)::bigint from notifications.postbox").await, 1);
}

/// S0-34: a letter that could not be sent leaves no mark behind, so that it is tried again.
#[tokio::test]
async fn a_letter_that_was_not_sent_is_not_marked() {
    let shop = Shop::open().await;
    shop.execute("alter table notifications.postbox rename to away").await;
    send(shop.pool(), "first").await.unwrap_err();
    shop.execute("alter table notifications.away rename to postbox").await;
    send(shop.pool(), "first").await.unwrap();
    assert_eq!(letters(&shop).await, 1);
}

/// The provider knows a letter by its key: where our mark was lost behind the letter, asking again delivers nothing.
#[tokio::test]
async fn a_lost_mark_sends_no_second_letter() {
    let shop = Shop::open().await;
    send(shop.pool(), "the same").await.unwrap();
    sqlx::query("delete from notifications.sent_confirmation").execute(shop.pool()).await.unwrap();
    send(shop.pool(), "the same").await.unwrap();
    assert_eq!(letters(&shop).await, 1);
    assert_eq!(shop.number("select sum(requests)::bigint from notifications.postbox").await, 2);
}
