//! The storefront, wired: which modules it has, their tables, and how a worker is built.
//!
//! The programs:
//!
//! - `storefront-worker` runs the subscribers;
//! - `storefront-web`, a package of its own, publishes and links no subscriber;
//! - `storefront-demo` starts both, kills a worker in the middle and proves that nothing was lost or doubled;
//! - `storefront-orders` writes the orders that the demo places when it is given none.

pub mod seeded;

use std::time::Duration;

use automation::Carts;
use notifications::Mailer;
use outbox::{MigrateError, Outbox, OutboxBuilder};
use sqlx::PgPool;

outbox::modules![analytics, automation, catalogue, inventory, notifications, orders];

/// Orders to place when none are given, as `storefront-orders` writes them.
pub const SAMPLE_ORDERS: &[u8] = include_bytes!("../../data/orders.jsonl");

/// Brings the tables up to date: the outbox's, then those of each module.
///
/// # Errors
/// When the database refuses a statement.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    outbox::migrate(pool).await?;
    for tables in [orders::TABLES, inventory::TABLES, notifications::TABLES, automation::TABLES, analytics::TABLES] {
        sqlx::raw_sql(tables).execute(pool).await?;
    }
    Ok(())
}

/// A worker on `pool`, with the state that its handlers take. The mail provider answers after `mail_latency`, on the
/// connections of `postbox`, because the handlers hold those of `pool` meanwhile.
pub fn worker(pool: PgPool, postbox: PgPool, mail_latency: Duration) -> OutboxBuilder {
    let carts = Carts::new(pool.clone());
    Outbox::builder(pool).state(Mailer::new(postbox, mail_latency)).state(carts)
}
