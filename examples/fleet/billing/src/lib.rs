//! The billing service: charges for policies, and keeps a projection of them.
//!
//! - [`releases`]: what it makes of `policy.created`, in the version that each of its releases knows; `changes`: of what comes later.
//! - [`projection`]: policies as it was told, whatever came in which order.
//! - [`ledger`]: a charge for each policy, exactly once, and its fact.
//! - [`Policies`]: the projection compared with its authority, and mended.

mod authority;
mod changes;
pub mod ledger;
pub mod projection;
mod reconcile;
mod relay;
pub mod releases;

use outbox::{BoxError, Outbox, OutboxBuilder};
use outbox_relay::Relay;
use platform::{Broker, Release};
use sqlx::PgPool;

pub use authority::Authority;
pub use reconcile::{Policies, reconcile};

outbox::modules![changes, contracts, relay, releases];

/// The tables of this service. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Brings the tables up to date: the outbox's, then the service's own.
///
/// # Errors
/// When the database refuses a statement.
pub async fn migrate(pool: &PgPool) -> Result<(), BoxError> {
    outbox::migrate(pool).await?;
    sqlx::raw_sql(TABLES).execute(pool).await?;
    Ok(())
}

/// The outbox of this service, as a build of this release has it.
pub fn outbox(pool: PgPool, release: Release, relay: Relay<Broker>) -> OutboxBuilder {
    Outbox::builder(pool).registry(releases::registry(release)).state(relay)
}
