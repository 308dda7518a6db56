//! The example of docs/faults.md, which `tests/readme.rs` holds to be these lines, word for word.

use outbox::prelude::*;
use outbox_testing::fault::{Point, Proxy};
use outbox_testing::{Sandbox, eventually};
use sqlx::{ConnectOptions, PgPool};

#[event("order.placed")]
struct OrderPlaced {
    order_id: i64,
}

#[subscriber(event = "order.placed", name = "inventory.take")]
async fn take(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let take = sqlx::query("insert into taken (order_id) values ($1)").bind(order.order_id);
    take.execute(&mut *tx).await?;
    Ok(())
}

#[tokio::test]
async fn stock_is_taken_once() -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::database().await;
    sandbox.execute("create table taken (order_id bigint not null)").await;
    let proxy = Proxy::start(sandbox.options().to_url_lossy().as_str())?;
    let pool = PgPool::connect(&proxy.url()).await?;
    let outbox = sandbox.outbox_on(pool).build().await?;

    let mut tx = outbox.begin().await?;
    OrderPlaced { order_id: 7 }.publish(&mut tx).await?;
    tx.commit().await?;

    let lost = proxy.cut_at(Point::after("commit").following("settle_tx"));
    let worker = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.run(std::future::pending()).await }
    });
    lost.until_reached().await;
    eventually("the job has ended", async || (sandbox.jobs().await.succeeded() == 1).then_some(())).await;

    assert_eq!(sandbox.number("select count(*) from taken where order_id = 7").await, 1);
    worker.abort();
    Ok(())
}
