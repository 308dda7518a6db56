//! A mail for one notification.

use outbox::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::ids::NotificationId;
use crate::mail::{Letter, Mailer};

/// Tell the owner of a notification by mail. It holds neither address nor text: both are read when the mail is sent.
#[job("notifications.send_email")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendEmail {
    /// Which one.
    pub notification: NotificationId,
}

/// Sends the mail, and notes behind it that it has left.
///
/// Where the process dies between the two, the mail is sent again under the same `Message-ID`, which is made of the key:
/// its reader's mail program shows it once.
///
/// # Errors
/// When the mail server does not take it: for good, and the job ends as failed; or for now, and it is tried again.
#[subscriber(job = "notifications.send_email", max_attempts = 8, backoff = exponential("60s", max = "1h"), timeout = "30s")]
pub async fn send_email(
    job: SendEmail,
    State(mailer): State<Mailer>,
    State(pool): State<PgPool>,
    key: IdempotencyKey,
) -> HandlerResult {
    let find = sqlx::query_as(include_str!("unsent.sql")).bind(job.notification);
    let Some((name, email, headline)) = find.fetch_optional(&pool).await? else {
        return Err(Failure::discard("the mail has left already, or nobody is there to read it"))?;
    };
    let text = format!("{headline}.\n");
    mailer.send(&Letter { name, email, subject: headline, text }, &key).await?;
    sqlx::query("update solopm.notifications set mailed_at = now() where id = $1")
        .bind(job.notification)
        .execute(&pool)
        .await?;
    Ok(())
}
