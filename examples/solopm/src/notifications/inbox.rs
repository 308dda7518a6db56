//! Somebody's list of notifications.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgPool, Postgres};

use crate::ids::{NotificationId, ProjectId, UserId};

/// A notification.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Notification {
    /// Which one.
    pub id: NotificationId,
    /// The event's name.
    pub kind: String,
    /// Where it happened.
    pub project_id: Option<ProjectId>,
    /// In a few words.
    pub headline: String,
    /// When it came.
    pub created_at: DateTime<Utc>,
    /// When its owner saw it.
    pub read_at: Option<DateTime<Utc>>,
}

/// The newest notifications, and how many of all are unread.
#[derive(Debug, Clone, Serialize)]
pub struct Inbox {
    /// How many are unread.
    pub unread: i64,
    /// The newest.
    pub newest: Vec<Notification>,
}

/// What somebody is to know.
///
/// # Errors
/// When the database does.
pub async fn inbox(pool: &PgPool, user: UserId) -> Result<Inbox, sqlx::Error> {
    let unread = "select count(*) from solopm.notifications where user_id = $1 and read_at is null";
    let unread = sqlx::query_scalar::<Postgres, _>(unread).bind(user).fetch_one(pool).await?;
    let newest = "select id, kind, project_id, headline, created_at, read_at
                  from solopm.notifications where user_id = $1 order by id desc limit 30";
    Ok(Inbox { unread, newest: sqlx::query_as(newest).bind(user).fetch_all(pool).await? })
}

/// They have seen everything up to this one.
///
/// # Errors
/// When the database does.
pub async fn mark_read(pool: &PgPool, user: UserId, up_to: NotificationId) -> Result<(), sqlx::Error> {
    let mark = "update solopm.notifications set read_at = now() where user_id = $1 and id <= $2 and read_at is null";
    sqlx::query(mark).bind(user).bind(up_to).execute(pool).await.map(drop)
}
