//! Users: who has an account, and the tokens that open it.

mod account;
mod http;
mod tokens;

use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::ids::UserId;

pub use account::{Draft, Edit, create, delete, update};
pub(crate) use http::routes;
pub use tokens::{give_token, log_in, revoke_token};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// Somebody with an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct User {
    /// Who.
    pub id: UserId,
    /// The name by which others mention them.
    pub username: String,
    /// The name as it is shown.
    pub name: String,
    /// Where their mail goes.
    pub email: String,
    /// How they want to hear of things.
    pub email_mode: EmailMode,
    /// Whether they run this server.
    pub admin: bool,
}

/// How somebody wants to hear of things by mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum EmailMode {
    /// A mail for each.
    #[default]
    Instant,
    /// One mail a night.
    DailyDigest,
    /// No mail.
    None,
}

/// Whose token this is; `None` when it opens nothing.
///
/// # Errors
/// When the database does.
pub async fn by_token(pool: &PgPool, token: &str) -> Result<Option<User>, sqlx::Error> {
    sqlx::query_as(include_str!("by_token.sql")).bind(token.as_bytes()).fetch_optional(pool).await
}
