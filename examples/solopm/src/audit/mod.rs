//! The audit: a row for each event, in the transaction of what it tells of.
//!
//! It runs inside of `publish`, so there is no moment in which a change is committed and its row is not, or the other way
//! round. `action_type` is the event's stored name: there is no second list of names that could differ from the first.

mod http;
mod trail;

use outbox::prelude::*;

use crate::context::Origin;

pub(crate) use http::routes;
pub use trail::{Entry, trail};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// Writes the row of one event, whichever it is.
///
/// # Errors
/// When the database does: the event is not published then, and its transaction should not commit.
#[subscriber(event = "*", name = "audit.write", in_transaction)]
pub async fn write(event: Envelope, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let origin = Origin::from(&event.metadata);
    let insert = sqlx::query(include_str!("write.sql"))
        .bind(event.id.as_uuid())
        .bind(&event.name)
        .bind(&event.metadata.actor)
        .bind(origin.project)
        .bind(&event.subject.kind)
        .bind(&event.subject.id)
        .bind(origin.via_webhook)
        .bind(event.payload.as_json())
        .bind(event.occurred_at);
    insert.execute(&mut *tx).await.map(drop)
}
