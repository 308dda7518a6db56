//! The least SQL that does the same durable work: written by hand, on the tables that `outbox` makes, with the same driver, as many
//! connections, batches of the same size, and prepared statements.

pub(super) mod bare;
pub(super) mod bulk;
mod claim;
pub(super) mod drain;
pub(super) mod latency;
pub(super) mod publish;
mod settle;
mod transactions;
pub(super) mod tx_drain;

use std::sync::{Mutex, PoisonError};

use outbox::Outbox;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use ulid::Generator;
use uuid::Uuid;

use super::{database, pool};

static IDS: Mutex<Generator> = Mutex::new(Generator::new());

/// Ids that grow, as ours do: their index is written at its end.
fn id() -> Uuid {
    let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    match ids.generate() {
        Ok(id) => id.into(),
        Err(overflow) => overflow.commit_overflow_random().into(),
    }
}

/// Without the compilation of plans, which a user of such statements turns off, and the engine does too.
fn options() -> anyhow::Result<PgConnectOptions> {
    Ok(database()?.options([("jit", "off")]))
}

/// Tables and catalogue as a program with the same handlers makes them.
async fn prepared(connections: u32) -> anyhow::Result<PgPool> {
    let pool = pool(options()?, connections).await?;
    outbox::migrate(&pool).await?;
    drop(Outbox::builder(pool.clone()).build().await?);
    Ok(pool)
}
