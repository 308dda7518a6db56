//! **fan out**: an event becomes one delivery, with its job, for each endpoint that wants it.

use outbox::{Enqueue as _, Envelope, Failure, HandlerResult, State, Tx, subscriber};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::deliver::Deliver;
use crate::event::is_ours;
use crate::route::{Outgoing, patterns};
use crate::webhooks::Webhooks;

/// The header of a message's context that says that an incoming webhook caused it.
///
/// Set it where incoming webhooks are handled, `Metadata::new().header(VIA_WEBHOOK, "true")`; what their handlers publish carries it
/// on. Endpoints can be told to skip such events, so that two systems that tell each other everything do not do so for ever.
pub const VIA_WEBHOOK: &str = "via_webhook";

/// All of it is one commit with the completion of its own job, so that an event is fanned out exactly once. The unique key of endpoint
/// and event holds even where it is made to run again.
#[subscriber(event = "*", name = "webhooks.fan_out")]
async fn fan_out(event: Envelope, State(webhooks): State<Webhooks>, mut tx: Tx<'_>) -> HandlerResult {
    if is_ours(&event.name) || webhooks.excludes(&event.name) {
        return Ok(());
    }
    // The same event would be mapped in the same way again.
    match webhooks.route(&event).map_err(Failure::quarantine)? {
        Some(outgoing) => write(&webhooks, &mut tx, &event, outgoing).await,
        None => Ok(()),
    }
}

async fn write(
    webhooks: &Webhooks,
    connection: &mut PgConnection,
    event: &Envelope,
    outgoing: Outgoing,
) -> HandlerResult {
    let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(webhooks.statements().fan_out.text())
        .bind(event.id.as_uuid())
        .bind(outgoing.tenant)
        .bind(patterns(&event.name))
        .bind(&event.name)
        .bind(event.occurred_at)
        .bind(is_via_webhook(event))
        .bind(outgoing.body)
        .fetch_all(&mut *connection)
        .await?;
    let (mut deliveries, mut jobs) = (Vec::with_capacity(rows.len()), Vec::<Uuid>::with_capacity(rows.len()));
    for (delivery, endpoint) in rows {
        let job = Deliver { delivery: delivery.into(), endpoint: endpoint.into() };
        jobs.push(job.enqueue(&mut *connection).await?.job_id.into());
        deliveries.push(delivery);
    }
    if !jobs.is_empty() {
        let name = webhooks.statements().fan_out_jobs.text();
        sqlx::query(name).bind(deliveries).bind(jobs).execute(connection).await?;
    }
    Ok(())
}

fn is_via_webhook(event: &Envelope) -> bool {
    event.metadata.headers.get(VIA_WEBHOOK).is_some_and(|said| said != "false")
}
