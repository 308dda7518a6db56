//! What has ended and is old enough goes, once a day.

use outbox::prelude::*;
use sqlx::PgConnection;

/// What may go, a statement each. `$1` is the time of the tick, and no clock of a machine.
const CULLS: [&str; 3] = [include_str!("notifications.sql"), include_str!("tokens.sql"), include_str!("blobs.sql")];

/// Every day.
///
/// # Errors
/// When the database does. All of it is one transaction, and is tried again.
#[scheduled(cron = "30 3 * * *", tz = "Europe/Berlin", name = "retention.cull", backoff = exponential("60s", max = "1h"))]
pub async fn cull(tick: Tick, mut tx: Tx<'_>) -> HandlerResult {
    let connection: &mut PgConnection = &mut tx;
    for cull in CULLS {
        sqlx::query(cull).bind(tick.at).execute(&mut *connection).await?;
    }
    Ok(())
}
