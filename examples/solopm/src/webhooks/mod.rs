//! Outgoing webhooks: the events of a project go to the addresses that its owner names.
//!
//! The crate `outbox-webhooks` has the tables, the fan-out and the deliveries; what is here says which events leave the house.

mod http;

use outbox_webhooks::{SettingError, Webhooks};
use sqlx::PgPool;

use crate::events::ProjectExported;

pub(crate) use http::routes;

/// Where webhooks may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Over TLS, into the open.
    #[default]
    Public,
    /// Anywhere, also to this machine without TLS: for development.
    Anywhere,
}

/// The webhooks of a database. Events without a project go nowhere, and an export is nobody's business.
///
/// # Errors
/// When the settings make no sense.
pub fn webhooks(pool: PgPool, reach: Reach) -> Result<Webhooks, SettingError> {
    let anywhere = reach == Reach::Anywhere;
    let builder = Webhooks::builder(pool).exclude([ProjectExported::NAME]);
    builder.allow_http(anywhere).allow_private_networks(anywhere).build()
}
