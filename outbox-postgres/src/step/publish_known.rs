//! publish, of one event without a key, to the subscribers that this process knows: one statement that reads one value of the catalogue.

use outbox_core::name;
use sqlx::{PgConnection, Row as _};

use super::millis;
use super::publish::Answer;
use crate::catalogue::Known;
use crate::error::PublishError;
use crate::identity;
use crate::publish::{Batch, Published, Row};

/// None where the catalogue has another edition by now. Nothing is written then.
pub(crate) async fn publish_known(
    connection: &mut PgConnection,
    batch: &Batch,
    row: &Row,
    metadata: &str,
    known: &Known,
) -> Result<Option<Answer>, PublishError> {
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    let answer = sqlx::query(batch.outbox.statements().publish_known.text())
        .bind(row.id.as_uuid())
        .bind(batch.name)
        .bind(batch.version.cast_signed())
        .bind(name::module_of(batch.name))
        .bind(row.subject_id.as_deref())
        .bind(row.payload.as_json())
        .bind(metadata)
        .bind(known.edition)
        .bind(identity::jobs(known.handlers.len()))
        .bind(&known.handlers)
        .bind(&known.any_version)
        .bind(&known.max_attempts)
        .bind(&known.priorities)
        .bind(millis(batch.delay))
        .bind(batch.not_before)
        .fetch_optional(connection)
        .await
        .map_err(database)?;
    let Some(answer) = answer else { return Ok(None) };
    if answer.try_get::<Option<bool>, _>("ok").map_err(database)? != Some(true) {
        return Ok(None);
    }
    Ok(Some(Answer {
        published: Published { event_id: row.id, jobs: known.handlers.len() as u64, duplicate: false },
        occurred_at: answer.try_get("occurred_at").map_err(database)?,
        retired: known.retired.clone(),
    }))
}
