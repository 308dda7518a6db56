//! The policy service: the authority over policies. It takes commands, publishes what came of them, and knows nobody who listens.
//!
//! - [`Agent`]: who may do what; [`Checked`]: a command that was found valid and allowed. Only such a one can be carried out, so nothing
//!   is begun for any other.
//! - [`create`], [`amend`], [`cancel`]: the change and its fact, in one transaction.
//! - [`read`]: what is true now, for those who compare.
//! - [`router`]: all of it over HTTP.
//! - `invoices`: what billing says, noted.

mod agent;
mod amend;
mod cancel;
mod command;
mod create;
mod http;
mod invoices;
pub mod read;
mod refused;
mod relay;

pub use agent::{Agent, Right};
pub use amend::{Amend, amend};
pub use cancel::{Cancel, cancel};
pub use command::{Checked, Command, check};
pub use create::{Create, create};
pub use http::{router, serve};
pub use refused::{Refused, Result};

use outbox::{Outbox, OutboxBuilder};
use outbox_relay::Relay;
use platform::{Broker, Release, registry};
use sqlx::PgPool;

outbox::modules![contracts, invoices, relay];

/// The tables of this service. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Brings the tables up to date: the outbox's, then the service's own.
///
/// # Errors
/// When the database refuses a statement.
pub async fn migrate(pool: &PgPool) -> Result<(), outbox::BoxError> {
    outbox::migrate(pool).await?;
    sqlx::raw_sql(TABLES).execute(pool).await?;
    Ok(())
}

/// The outbox of this service, as a build of this release has it.
pub fn outbox(pool: PgPool, release: Release, relay: Relay<Broker>) -> OutboxBuilder {
    Outbox::builder(pool).registry(registry(release, |_| true)).state(relay)
}
