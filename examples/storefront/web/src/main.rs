//! The web role: takes orders and publishes them. It links no subscriber, and still each event has a job for every one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use orders::{OnBadLine, Order, PlaceError, Reading, draft_order, place_order, read_orders};
use outbox::{Outbox, Published};
use sqlx::postgres::PgPoolOptions;

outbox::modules![orders];

/// Places the orders of a file.
#[derive(Debug, Parser)]
struct Arguments {
    /// JSON, one order a line; `-` is the standard input.
    #[arg(long, value_name = "FILE")]
    orders: PathBuf,
    /// With bad lines: `refuse` takes nothing at all, `skip` takes the rest.
    #[arg(long, value_name = "CHOICE", default_value_t)]
    on_bad_line: OnBadLine,
}

/// The exit code when nothing of the file was taken.
const REFUSED: u8 = 2;
/// Bad lines that are shown.
const SHOWN: usize = 20;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let reading = read_orders(&read(&arguments.orders)?);
    report(&reading);
    let orders = match reading.accept(arguments.on_bad_line) {
        Ok(orders) => orders,
        Err(refused) => {
            eprintln!("error: {refused}");
            return Ok(ExitCode::from(REFUSED));
        }
    };
    let url = std::env::var("DATABASE_URL").context("DATABASE_URL has to name the shop's database")?;
    let pool = PgPoolOptions::new().max_connections(2).connect(&url).await.context("the database does not answer")?;
    let outbox = Outbox::builder(pool).name("web").build().await?;
    let mut placed = 0;
    for order in &orders {
        let published = place(&outbox, order).await.with_context(|| format!("order `{}`", order.id))?;
        placed += usize::from(!published.duplicate);
    }
    println!("{placed} orders placed, {} were placed already", orders.len() - placed);
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("the standard input cannot be read")?;
        return Ok(bytes);
    }
    std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

fn report(reading: &Reading) {
    for line in reading.bad_lines.iter().take(SHOWN) {
        eprintln!("{line}");
    }
    if let Some(more) = reading.bad_lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        eprintln!("and {more} more bad lines");
    }
}

/// One request: the draft, the payment and the news of it in one transaction.
async fn place(outbox: &Outbox, order: &Order) -> Result<Published, PlaceError> {
    let mut tx = outbox.begin().await?;
    draft_order(&mut tx, order).await?;
    let published = place_order(&mut tx, order).await?;
    tx.commit().await?;
    Ok(published)
}
