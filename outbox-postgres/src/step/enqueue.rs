//! enqueue: one job row (and its key) in one statement, in the caller's transaction.

use outbox_core::{JobId, Source};
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::millis;
use crate::enqueue::{Enqueued, Order};
use crate::error::PublishError;

pub(crate) async fn enqueue(
    connection: &mut PgConnection,
    order: &Order,
    metadata: &str,
) -> Result<Enqueued, PublishError> {
    let database = |error| PublishError::database(order.name, order.outbox.schema(), error);
    let (max_attempts, priority) = own_settings(order);
    let row = sqlx::query(order.outbox.statements().enqueue.text())
        .bind(order.id.as_uuid())
        .bind(order.name)
        .bind(order.version.cast_signed())
        .bind(order.payload.as_json())
        .bind(metadata)
        .bind(max_attempts)
        .bind(priority)
        .bind(order.priority.map(i16::from))
        .bind(millis(order.delay))
        .bind(order.not_before)
        .bind(order.key.as_deref())
        .bind(order.expires.map(millis))
        .fetch_one(connection)
        .await
        .map_err(database)?;
    Ok(Enqueued {
        job_id: JobId::from(row.try_get::<Uuid, _>("id").map_err(database)?),
        duplicate: !row.try_get::<bool, _>("enqueued").map_err(database)?,
    })
}

/// The settings of the job's handler as far as this binary knows it; what the catalogue says goes first.
fn own_settings(order: &Order) -> (i32, i16) {
    let handler = order.outbox.registry().subscribers().iter().find(|one| one.source == Source::Job(order.name));
    let settings = handler.map_or(outbox_core::Settings::DEFAULT, |handler| handler.settings);
    (i32::try_from(settings.max_attempts).unwrap_or(i32::MAX), i16::from(settings.priority))
}
