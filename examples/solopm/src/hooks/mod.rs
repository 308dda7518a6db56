//! Incoming webhooks: another service tells of something, and it is done here.
//!
//! A message whose signature is right is kept and answered at once; what it asks for is done by a subscriber of
//! [`WebhookReceived`](crate::events::WebhookReceived). Everything that follows is marked as caused by a webhook, because
//! the mark is in the context of the first event.

mod act;
mod http;
mod process;
mod receive;

use crate::ids::ProjectId;
use outbox_webhooks::Secret;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::refused::Result;

pub(crate) use http::routes;
pub use process::process;
pub use receive::receive;

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// Lets a service tell a project of things. Answers the address's id and the secret that it signs with.
///
/// # Errors
/// When the source's name is none, or the database refuses.
pub async fn open(connection: &mut PgConnection, project: ProjectId, source: &str) -> Result<(Uuid, Secret)> {
    let secret = Secret::generate();
    let insert = "insert into solopm.hooks (project_id, source, secret) values ($1, $2, $3) returning id";
    let insert = sqlx::query_scalar(insert).bind(project).bind(source).bind(secret.expose());
    Ok((insert.fetch_one(connection).await?, secret))
}
