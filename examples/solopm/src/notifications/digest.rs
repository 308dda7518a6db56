//! One mail a night, for those who prefer that.

use outbox::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ids::{NotificationId, UserId};
use crate::mail::{Letter, Mailer};

/// Tell a user by one mail of everything that waits for the night.
#[job("notifications.send_digest")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendDigest {
    /// Whom.
    pub user: UserId,
}

/// Every night: a job for each user for whom something waits, also where it waits because last night's mail did not leave.
///
/// # Errors
/// When the database does. The tick is tried again; its jobs are written once.
#[scheduled(cron = "0 2 * * *", tz = "Europe/Berlin", name = "notifications.daily_digest", backoff = exponential("60s", max = "1h"))]
pub async fn daily_digest(mut tx: Tx<'_>) -> HandlerResult {
    let waiting = "select distinct user_id from solopm.notifications
                   where mailed_at is null and delivery = 'daily_digest' order by user_id";
    for user in sqlx::query_scalar(waiting).fetch_all(&mut *tx).await? {
        SendDigest { user }.enqueue(&mut tx).await?;
    }
    Ok(())
}

/// Sends the mail, and marks what it tells of behind it. The marks commit with the job, or not at all: a mail that did not
/// leave leaves nothing marked, and the rows stay locked meanwhile, so that no second digest tells of them.
///
/// # Errors
/// When the mail server does not take it, or the database refuses.
#[subscriber(job = "notifications.send_digest", max_attempts = 8, backoff = exponential("60s", max = "1h"), timeout = "30s")]
pub async fn send_digest(
    job: SendDigest,
    mut tx: Tx<'_>,
    State(mailer): State<Mailer>,
    key: IdempotencyKey,
) -> HandlerResult {
    let waiting: Vec<(NotificationId, String)> =
        sqlx::query_as(include_str!("waiting.sql")).bind(job.user).fetch_all(&mut *tx).await?;
    let reader = "select name, email from solopm.users where id = $1 and deleted_at is null";
    let reader = sqlx::query_as(reader).bind(job.user).fetch_optional(&mut *tx).await?;
    let (Some((name, email)), false) = (reader, waiting.is_empty()) else { return Ok(()) };
    let (ids, headlines): (Vec<_>, Vec<String>) = waiting.into_iter().unzip();
    let subject = format!("{} news", ids.len());
    let text = format!("- {}\n", headlines.join("\n- "));
    mailer.send(&Letter { name, email, subject, text }, &key).await?;
    sqlx::query("update solopm.notifications set mailed_at = now() where id = any($1)")
        .bind(ids)
        .execute(&mut *tx)
        .await?;
    Ok(())
}
