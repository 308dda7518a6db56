//! A program of a user, as small as one is that does everything: migrates, publishes, works, and counts what came of it.
//!
//! `previous migrate | publish PREFIX COUNT | work | check EVENTS`, on the database of `DATABASE_URL`.

use std::error::Error;
use std::time::{Duration, Instant};

use outbox::prelude::*;
use sqlx::PgPool;

const PATIENCE: Duration = Duration::from_secs(60);

/// Something was asked for.
#[event("errand.asked")]
struct Asked {
    label: String,
}

/// The effect and the completion are one commit.
#[subscriber(event = "errand.asked", name = "errand.book")]
async fn book(asked: Asked, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    println!("began errand.book {}", asked.label);
    let effect = sqlx::query("insert into effect (label) values ($1)").bind(&asked.label);
    effect.execute(&mut *tx).await.map(drop)
}

/// Fails at first, when the label says so.
#[subscriber(event = "errand.asked", name = "errand.stumble", backoff = fixed("100ms"), idempotent = "has no effect")]
async fn stumble(asked: Asked, Attempt(attempt): Attempt) -> HandlerResult {
    println!("began errand.stumble {}", asked.label);
    if asked.label.contains("stumble") && attempt == 1 {
        return Err("stumbled".into());
    }
    Ok(())
}

/// Does not end at first, when the label says so: its process is to be killed.
#[subscriber(event = "errand.asked", name = "errand.hang", idempotent = "has no effect")]
async fn hang(asked: Asked, Attempt(attempt): Attempt) -> HandlerResult {
    println!("began errand.hang {}", asked.label);
    if asked.label.contains("hang") && attempt == 1 {
        std::future::pending::<()>().await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let pool = PgPool::connect(&std::env::var("DATABASE_URL")?).await?;
    match arguments[..] {
        ["migrate"] => migrate(&pool).await,
        ["publish", prefix, count] => publish(&pool, prefix, count.parse()?).await,
        ["work"] => work(&pool).await,
        ["check", events] => check(&pool, events.parse()?).await,
        _ => Err("previous migrate | publish PREFIX COUNT | work | check EVENTS".into()),
    }
}

async fn migrate(pool: &PgPool) -> Result<(), Box<dyn Error>> {
    outbox::migrate(pool).await?;
    sqlx::query("create table if not exists effect (label text not null)").execute(pool).await?;
    let version: i32 = sqlx::query_scalar("select max(version) from system.migration").fetch_one(pool).await?;
    println!("version {version}");
    Ok(())
}

fn outbox(pool: &PgPool) -> outbox::OutboxBuilder {
    Outbox::builder(pool.clone()).lease(Duration::from_secs(2)).poll_interval(Duration::from_millis(100))
}

/// One event a transaction, so that others get their turn in between.
async fn publish(pool: &PgPool, prefix: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let outbox = outbox(pool).build().await?;
    for number in 0..count {
        let mut tx = outbox.begin().await?;
        Asked { label: format!("{prefix} {number}") }.publish(&mut tx).await?;
        tx.commit().await?;
    }
    println!("published {count}");
    Ok(())
}

async fn work(pool: &PgPool) -> Result<(), Box<dyn Error>> {
    let outbox = outbox(pool).concurrency(8).build().await?;
    println!("ready");
    outbox.run(outbox::shutdown_signal()).await?;
    println!("ended in order");
    Ok(())
}

/// Waits until nothing is left to do, and compares what there is with what was published.
async fn check(pool: &PgPool, events: i64) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let number = async |text: &'static str| sqlx::query_scalar::<_, i64>(text).fetch_one(pool).await;
    while number("select count(*) from system.job where status in ('pending', 'running')").await? > 0 {
        if begun.elapsed() > PATIENCE {
            return Err("there is still something to do".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let expected = [
        ("events", events, "select count(*) from system.event"),
        ("jobs", 3 * events, "select count(*) from system.job"),
        ("jobs that succeeded", 3 * events, "select count(*) from system.job where status = 'succeeded'"),
        ("effects", events, "select count(*) from effect"),
        ("labels with an effect", events, "select count(distinct label) from effect"),
    ];
    for (what, wanted, text) in expected {
        let found = number(text).await?;
        if found != wanted {
            return Err(format!("{found} {what}, and {wanted} were to be").into());
        }
    }
    let retried = number("select count(*) from system.job where attempts > 1 and crashes = 0").await?;
    let rescued = number("select count(*) from system.job where crashes > 0").await?;
    println!("checked {events} events, {} jobs, {retried} retried, {rescued} rescued", 3 * events);
    Ok(())
}
