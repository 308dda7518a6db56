//! The service that publishes: a row of its own and an event in one transaction, again and again, and a worker whose relay sends the events.
#![allow(clippy::print_stdout, reason = "the conductor waits for a line")]

use std::time::Duration;

use clap::Parser;
use outbox::Outbox;
use outbox_chaos_broker::load::ParcelSent;
use outbox_chaos_broker::node::{Node, READY, build, now};
use outbox_chaos_broker::ways::{PREFIX, Way};
use outbox_relay::Relay;
use tokio::time::{interval, timeout};

outbox_relay::relay!("sending.relay", event = "parcel.*", transport = Way, max_attempts = 100);

/// Longest transaction.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    node: Node,
    /// Transactions a second.
    #[arg(long)]
    rate: f64,
    /// Until when they are made, in milliseconds since 1970.
    #[arg(long)]
    until: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { node, rate, until } = Arguments::parse();
    node.begin()?;
    let pool = node.pool()?;
    let relay = Relay::builder(Way::to(node.broker, node.address).await?, "/sending")
        .prefix(PREFIX)
        .pauses(Duration::from_millis(100), Duration::from_secs(1))
        .hold(Duration::from_secs(1))
        .confirm_timeout(Duration::from_secs(3))
        .build()?;
    let outbox = build(node.builder(&pool).state(relay)).await?;
    println!("{READY}");
    let publishing = tokio::spawn(publish(outbox.clone(), rate, until));
    outbox.run(outbox::shutdown_signal()).await?;
    publishing.abort();
    Ok(())
}

/// Every tenth transaction is rolled back when everything is written. What becomes of one whose commit is not answered is the database's to
/// know: its row and its event are there together or not at all.
async fn publish(outbox: Outbox, rate: f64, until: u64) {
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    let mut count: u64 = 0;
    while now() < until {
        ticks.tick().await;
        count += 1;
        let published = timeout(PATIENCE, one(&outbox, count.is_multiple_of(10))).await;
        if let Ok(Err(error)) = published {
            tracing::debug!(%error, "a transaction did not come to its end");
        }
    }
}

async fn one(outbox: &Outbox, rolls_back: bool) -> anyhow::Result<()> {
    let mut tx = outbox.begin().await?;
    let number = sqlx::query_scalar("insert into parcel default values returning number").fetch_one(&mut *tx).await?;
    outbox.publish(&mut tx, &ParcelSent { number }).await?;
    if rolls_back {
        tx.rollback().await?;
    } else {
        tx.commit().await?;
    }
    Ok(())
}
