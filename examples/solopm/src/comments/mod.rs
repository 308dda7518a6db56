//! Comments: what is said about an issue.

mod http;
mod say;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgPool;

use crate::ids::{CommentId, ProjectId, UserId};

pub(crate) use http::routes;
pub use say::{create, delete, resolve, unresolve, update};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// A comment.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Comment {
    /// Which one.
    pub id: CommentId,
    /// Who said it; nobody, where a webhook did.
    pub author_id: Option<UserId>,
    /// What, in Markdown.
    pub body: String,
    /// Whether what it asks for is settled.
    pub resolved: bool,
    /// When.
    pub said_at: DateTime<Utc>,
}

/// What is said about an issue, oldest first.
///
/// # Errors
/// When the database does.
pub async fn all(pool: &PgPool, project: ProjectId, number: i32) -> Result<Vec<Comment>, sqlx::Error> {
    let find = "select c.id, c.author_id, c.body, c.resolved, c.said_at
                from solopm.comments c join solopm.issues i on i.id = c.issue_id
                where i.project_id = $1 and i.number = $2 order by c.id";
    sqlx::query_as(find).bind(project).bind(number).fetch_all(pool).await
}
