//! What a message asks for is done.

use outbox::prelude::*;
use sqlx::{Connection, PgConnection};

use super::act::{Wish, act};
use crate::context::{Emit as _, Origin};
use crate::events::{WebhookFailed, WebhookProcessed, WebhookReceived};
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// Does it behind a savepoint: what cannot be done is undone, and that it failed is said in the same transaction, which
/// commits all the same.
///
/// # Errors
/// When the database does, for now: nothing is said then, and the job is tried again.
#[subscriber(event = "webhook.received", name = "hooks.process", max_attempts = 8, backoff = exponential("60s", max = "1h"))]
pub async fn process(event: WebhookReceived, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let Some(project) = project(&mut tx, Origin::from(&envelope.metadata)).await? else {
        return Err(Failure::discard("the project is gone"))?;
    };
    let WebhookReceived { id, hook, source } = event;
    let mut attempt = Connection::begin(&mut *tx).await?;
    let body = "select body from solopm.hook_messages where hook_id = $1 and message_id = $2";
    let body: String = sqlx::query_scalar(body).bind(hook).bind(&id).fetch_one(&mut *attempt).await?;
    match done(&mut attempt, &project, &body).await {
        Ok(outcome) => {
            attempt.commit().await?;
            WebhookProcessed { id, source, outcome }.emit(&mut tx, project.id).await?;
        }
        Err(refused) if refused.is_final() => {
            attempt.rollback().await?;
            WebhookFailed { id, source, reason: refused.to_string() }.emit(&mut tx, project.id).await?;
        }
        Err(passing) => return Err(passing)?,
    }
    Ok(())
}

async fn done(tx: &mut PgConnection, project: &Project, body: &str) -> Result<String> {
    let wish: Wish = serde_json::from_str(body)
        .map_err(|_| Refused::Invalid("nothing that is known here is asked for".to_owned()))?;
    act(tx, project, wish).await
}

async fn project(tx: &mut PgConnection, origin: Origin) -> Result<Option<Project>, sqlx::Error> {
    let find = "select id, title, description, status from solopm.projects where id = $1";
    sqlx::query_as(find).bind(origin.project).fetch_optional(tx).await
}
