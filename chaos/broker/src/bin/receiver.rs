//! The service that ingests: what comes becomes an event of its own database, and a handler has one effect for each.
#![allow(clippy::print_stdout, reason = "the conductor waits for a line")]

use clap::Parser;
use outbox::prelude::*;
use outbox_chaos_broker::load::ParcelSent;
use outbox_chaos_broker::node::{Node, READY, build};
use outbox_chaos_broker::ways::From;
use outbox_ingest::Ingest;
use tokio::sync::oneshot;

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    node: Node,
}

#[outbox::subscriber(event = "parcel.sent", name = "receiving.record", max_attempts = 100)]
async fn record(event: ParcelSent, mut tx: Tx<'_>) -> HandlerResult {
    sqlx::query("insert into effect (number) values ($1)").bind(event.number).execute(&mut *tx).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { node } = Arguments::parse();
    node.begin()?;
    let pool = node.pool()?;
    let outbox = build(node.builder(&pool)).await?;
    let ingest = Ingest::builder(From::the(node.broker, node.address).await?).prefetch(50).build()?;
    println!("{READY}");
    let (stop, stopped) = oneshot::channel::<()>();
    let ingesting = tokio::spawn({
        let outbox = outbox.clone();
        async move { ingest.run(&outbox, async { drop(stopped.await) }).await }
    });
    outbox.run(outbox::shutdown_signal()).await?;
    drop(stop);
    ingesting.await?;
    Ok(())
}
