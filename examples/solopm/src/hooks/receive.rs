//! A message comes in.

use outbox::prelude::*;
use outbox_webhooks::{Secret, Verifier};
use uuid::Uuid;

use crate::context::{self, Emit as _};
use crate::events::WebhookReceived;
use crate::ids::ProjectId;
use crate::refused::{Refused, Result};

/// Keeps a message that is signed with the hook's secret, and publishes that it came. One that was kept before is answered
/// in the same way, and nothing else is done.
///
/// # Errors
/// When there is no such hook, when the signature is not right, or the database refuses.
pub async fn receive<'h>(
    outbox: &Outbox,
    hook: Uuid,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
) -> Result<()> {
    let find = "select project_id, source, secret from solopm.hooks where id = $1";
    let found: Option<(ProjectId, String, String)> =
        sqlx::query_as(find).bind(hook).fetch_optional(outbox.pool()).await?;
    let (project, source, secret) = found.ok_or(Refused::NotFound("hook"))?;
    let secret: Secret = secret.parse().map_err(|_| Refused::NotFound("hook"))?;
    let message = Verifier::new([secret]).verify(header, body).map_err(|_| Refused::Unsigned)?;
    let body = std::str::from_utf8(body).map_err(|_| Refused::Invalid("the body is no text".to_owned()))?;
    let mut tx = outbox.begin().await?;
    let keep =
        "insert into solopm.hook_messages (hook_id, message_id, body) values ($1, $2, $3) on conflict do nothing";
    if sqlx::query(keep).bind(hook).bind(&message.id).bind(body).execute(&mut *tx).await?.rows_affected() == 0 {
        return Ok(());
    }
    let received = WebhookReceived { id: message.id, hook, source: source.clone() };
    // From here on everything is on the service's behalf.
    outbox.scope_with(context::of_webhook(&source), async { received.emit(&mut tx, project).await }).await?;
    Ok(tx.commit().await?)
}
