//! What is published, and the tables of both services.

use outbox::event;
use sqlx::{Executor as _, PgPool};

/// One parcel, of which the sender has a row and the receiver is to have one effect.
#[event("parcel.sent")]
#[derive(Debug)]
pub struct ParcelSent {
    /// Its number, of the sender's sequence.
    #[subject]
    pub number: i64,
}

/// The sender's own row, written in the transaction that publishes.
const SENDER: &str = "create table parcel (number bigserial primary key)";
/// The receiver's effect. Without a key, so that a second one of a parcel can be seen.
const RECEIVER: &str = "create table effect (number bigint not null)";

/// Makes the tables of the service that publishes.
///
/// # Errors
/// When the database refuses.
pub async fn prepare_sender(pool: &PgPool) -> anyhow::Result<()> {
    outbox::migrate(pool).await?;
    pool.execute(SENDER).await?;
    Ok(())
}

/// Makes the tables of the service that ingests.
///
/// # Errors
/// When the database refuses.
pub async fn prepare_receiver(pool: &PgPool) -> anyhow::Result<()> {
    outbox::migrate(pool).await?;
    pool.execute(RECEIVER).await?;
    Ok(())
}
