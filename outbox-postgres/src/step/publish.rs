//! publish: event row, job rows and key in one statement, in the caller's transaction. Events without keys have a statement without.

use chrono::{DateTime, Utc};
use outbox_core::{EventId, name};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::millis;
use crate::catalogue::Known;
use crate::error::PublishError;
use crate::fan_out::FanOut;
use crate::identity;
use crate::publish::{Batch, Published, Row};

/// Most events of one statement, and most bytes of payload in it.
const MAX_ROWS: usize = 1_000;
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// What the statement says of one event.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) published: Published,
    pub(crate) occurred_at: DateTime<Utc>,
    /// In-transaction subscribers that the catalogue has retired, by all their names, with blanks between.
    pub(crate) retired: Option<String>,
}

/// Sends a batch, a thousand events or 8 MiB a statement. Answers as well who the subscribers are, where the last statement says it.
pub(crate) async fn publish(
    connection: &mut PgConnection,
    batch: &Batch,
    metadata: &str,
) -> Result<(Vec<Answer>, Option<Known>), PublishError> {
    let fan_out = batch.outbox.fan_out(batch.name);
    let mut places: Vec<usize> = (0..batch.rows.len()).collect();
    // In the order of the keys over all statements, as each statement has it: two batches of the same keys do not deadlock. The
    // sort is stable, so of one key's events the first is published.
    places.sort_by_key(|place| batch.rows[*place].key.as_deref());
    let rows: Vec<&Row> = places.iter().map(|place| &batch.rows[*place]).collect();
    let mut published = Vec::with_capacity(rows.len());
    let mut rest = rows.as_slice();
    let mut known = None;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(chunk_length(rest));
        let (answers, subscribers) = publish_chunk(connection, batch, chunk, metadata, &fan_out).await?;
        published.extend(answers);
        known = subscribers;
        rest = behind;
    }
    let mut answers: Vec<_> = places.into_iter().zip(published).collect();
    answers.sort_unstable_by_key(|(place, _)| *place);
    Ok((answers.into_iter().map(|(_, answer)| answer).collect(), known))
}

fn chunk_length(rows: &[&Row]) -> usize {
    let mut bytes = 0;
    let fitting = rows.iter().take(MAX_ROWS).take_while(|row| {
        bytes += row.payload.as_json().len();
        bytes <= MAX_BYTES
    });
    fitting.count().max(1)
}

async fn publish_chunk(
    connection: &mut PgConnection,
    batch: &Batch,
    rows: &[&Row],
    metadata: &str,
    fan_out: &FanOut,
) -> Result<(Vec<Answer>, Option<Known>), PublishError> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id.as_uuid()).collect();
    let subjects: Vec<Option<&str>> = rows.iter().map(|row| row.subject_id.as_deref()).collect();
    let payloads: Vec<&str> = rows.iter().map(|row| row.payload.as_json()).collect();
    let contexts: Vec<&str> = rows.iter().map(|_| metadata).collect();
    let job_ids = identity::jobs(rows.len() * fan_out.handlers.len());
    let keys: Vec<Option<&str>> = rows.iter().map(|row| row.key.as_deref()).collect();
    let statements = batch.outbox.statements();
    let has_keys = keys.iter().any(Option::is_some);
    let statement = if has_keys { &statements.publish_keyed } else { &statements.publish };
    let query = sqlx::query(statement.text())
        .bind(ids)
        .bind(batch.name)
        .bind(batch.version.cast_signed())
        .bind(name::module_of(batch.name))
        .bind(subjects)
        .bind(payloads)
        .bind(contexts)
        .bind(&fan_out.patterns)
        .bind(&fan_out.handlers)
        .bind(&fan_out.max_attempts)
        .bind(&fan_out.priorities)
        .bind(&fan_out.any_version)
        .bind(&fan_out.in_transaction)
        .bind(millis(batch.delay))
        .bind(batch.not_before)
        .bind(job_ids);
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    if has_keys {
        let answer = query.bind(keys).fetch_all(connection).await.map_err(database)?;
        let answers = answer.iter().map(|row| read_keyed(batch, row)).collect::<Result<_, _>>()?;
        return Ok((answers, None));
    }
    // Without keys all are published, or none.
    let subscribers = query.fetch_all(connection).await.map_err(database)?;
    let first = subscribers.first().ok_or(sqlx::Error::RowNotFound).map_err(database)?;
    allowed(batch, first)?;
    let known = read_known(first, &subscribers).map_err(database)?;
    let jobs = known.handlers.len() as u64;
    let answer = |one: &&Row| answer(batch, first, Published { event_id: one.id, jobs, duplicate: false });
    Ok((rows.iter().map(answer).collect::<Result<_, _>>()?, Some(known)))
}

/// Why it was refused, if it was.
fn allowed(batch: &Batch, row: &PgRow) -> Result<(), PublishError> {
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    if let Some(handlers) = row.try_get("unlinked").map_err(database)? {
        return Err(PublishError::Unlinked { name: batch.name, handlers });
    }
    if row.try_get("stale").map_err(database)? {
        return Err(PublishError::StaleSnapshot { name: batch.name });
    }
    Ok(())
}

/// Those who have jobs, of a row each; the one row of an event without any has nulls for them.
fn read_known(first: &PgRow, subscribers: &[PgRow]) -> Result<Known, sqlx::Error> {
    let mut known = Known::nobody(first.try_get("edition")?, first.try_get("retired")?);
    for row in subscribers {
        if let Some(handler) = row.try_get("handler")? {
            known.handlers.push(handler);
            known.any_version.push(row.try_get("any_version")?);
            known.max_attempts.push(row.try_get("max_attempts")?);
            known.priorities.push(row.try_get("priority")?);
        }
    }
    Ok(known)
}

fn read_keyed(batch: &Batch, row: &PgRow) -> Result<Answer, PublishError> {
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    allowed(batch, row)?;
    let jobs = row.try_get::<i64, _>("jobs").map_err(database)?.unsigned_abs();
    let published: bool = row.try_get("published").map_err(database)?;
    let published = Published {
        event_id: EventId::from(row.try_get::<Uuid, _>("event_id").map_err(database)?),
        jobs: if published { jobs } else { 0 },
        duplicate: !published,
    };
    answer(batch, row, published)
}

fn answer(batch: &Batch, row: &PgRow, published: Published) -> Result<Answer, PublishError> {
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    Ok(Answer {
        published,
        occurred_at: row.try_get("occurred_at").map_err(database)?,
        retired: row.try_get("retired").map_err(database)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use outbox_core::Payload;

    fn rows(count: usize, bytes: usize) -> Vec<Row> {
        let payload = format!("\"{}\"", "x".repeat(bytes));
        let row = |_| Row {
            id: crate::identity::event(),
            subject_id: None,
            payload: Payload::from_json(payload.as_str()),
            key: None,
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn a_statement_is_bounded_in_rows_and_bytes() {
        let length = |rows: Vec<Row>| chunk_length(&rows.iter().collect::<Vec<_>>());
        assert_eq!(length(rows(1_500, 10)), 1_000);
        assert_eq!(length(rows(20, 1024 * 1024)), 7);
        assert_eq!(length(rows(2, 9 * 1024 * 1024)), 1, "one that is too large by itself still goes alone");
    }
}
