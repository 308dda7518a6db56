//! The wiki: the pages of a project.

mod http;
mod write;

use serde::Serialize;
use sqlx::PgPool;

use crate::ids::{PageId, ProjectId};

pub(crate) use http::routes;
pub use write::{Text, create, delete, update};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// A page.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Page {
    /// Which one.
    pub id: PageId,
    /// Its name in addresses.
    pub slug: String,
    /// Its words.
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub text: Text,
}

/// The page of this name.
///
/// # Errors
/// When the database does.
pub async fn find(pool: &PgPool, project: ProjectId, slug: &str) -> Result<Option<Page>, sqlx::Error> {
    let find = "select id, slug, title, body from solopm.pages where project_id = $1 and slug = $2";
    sqlx::query_as(find).bind(project).bind(slug).fetch_optional(pool).await
}
