//! One event, one subscriber. Run it against any PostgreSQL:
//! `DATABASE_URL=postgres://postgres@localhost/postgres cargo run --example quickstart`
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use outbox::prelude::*;

/// A customer's order was accepted.
#[event("order.placed")]
struct OrderPlaced {
    #[subject]
    order_id: i64,
    units: i32,
}

mod inventory {
    use outbox::prelude::*;

    /// Its stored name is `inventory.take`. Its update and the completion of its job are one commit.
    #[subscriber(event = "order.placed", max_attempts = 5)]
    async fn take(order: super::OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
        let take = sqlx::query("update shop.stock set units = units - $1").bind(order.units);
        take.execute(&mut *tx).await?;
        println!("took {} units for order {}", order.units, order.order_id);
        Ok(())
    }
}

outbox::modules![inventory]; // in a real program: the crates whose handlers it must have

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("DATABASE_URL").map_err(|_| "set DATABASE_URL to a PostgreSQL")?;
    let pool = sqlx::PgPool::connect(&url).await?;
    outbox::migrate(&pool).await?;
    sqlx::raw_sql(
        "create schema if not exists shop;
         create table if not exists shop.orders (id bigint generated always as identity, units int not null);
         create table if not exists shop.stock (units int not null);
         insert into shop.stock select 100 where not exists (select from shop.stock)",
    )
    .execute(&pool)
    .await?;

    let outbox = Outbox::builder(pool).build().await?; // refuses wrong wiring, naming every fault
    print!("{}", outbox.registry());

    let mut tx = outbox.begin().await?; // an sqlx transaction whose commit wakes the workers
    let order = "insert into shop.orders (units) values (3) returning id";
    let order_id: i64 = sqlx::query_scalar(order).fetch_one(&mut *tx).await?;
    OrderPlaced { order_id, units: 3 }.publish(&mut tx).await?; // the event and one job a subscriber
    tx.commit().await?; // all of it, or nothing

    outbox.drain().await?; // runs what is due; a service says `outbox.run(outbox::shutdown_signal())`
    Ok(())
}
