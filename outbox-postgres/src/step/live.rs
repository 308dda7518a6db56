//! live: the events that became visible since the last read.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{Envelope, EventId, Metadata, Payload, Subject};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;

/// What one read asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// The snapshot of the last read; `None`: the first.
    pub(crate) since: Option<String>,
    /// The snapshot of the last sweep; `None`: this is none.
    pub(crate) since_sweep: Option<String>,
    /// Where reads end, and sweeps go on.
    pub(crate) near: Uuid,
    /// The lowest id that is looked at ...
    pub(crate) low: Uuid,
    /// ... but for these transactions, when they have ended.
    pub(crate) open: Vec<String>,
    pub(crate) open_low: Vec<Uuid>,
    /// Most ids looked at, most events and bytes answered.
    pub(crate) most_looked: i32,
    pub(crate) most: i64,
    pub(crate) most_bytes: i64,
}

/// What a read found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) snapshot: String,
    /// When the server was started: another one, or the same one anew, counts its transactions otherwise.
    pub(crate) server: DateTime<Utc>,
    /// When it began to read, in milliseconds of the server's clock.
    pub(crate) read_at: i64,
    /// How long it took the server.
    pub(crate) took: Duration,
    /// It looked at as many ids as it may, and came down to this one.
    pub(crate) cut_at: Option<Uuid>,
    /// There were more than it answers, of these types.
    pub(crate) skipped: Option<Vec<String>>,
    pub(crate) events: Vec<Arc<Envelope>>,
}

/// Since when some transaction may have been open, in milliseconds of the server's clock.
pub(crate) async fn open(connection: &mut PgConnection, statements: &Statements) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(statements.live_open.text()).fetch_one(connection).await
}

/// Reads once.
pub(crate) async fn read(
    connection: &mut PgConnection,
    statements: &Statements,
    look: &Look,
) -> Result<Found, sqlx::Error> {
    let rows = sqlx::query(statements.live.text())
        .bind(&look.since)
        .bind(&look.since_sweep)
        .bind(look.near)
        .bind(look.low)
        .bind(&look.open)
        .bind(&look.open_low)
        .bind(look.most_looked)
        .bind(look.most)
        .bind(look.most_bytes)
        .fetch_all(connection)
        .await?;
    let (head, events) = rows.split_first().ok_or(sqlx::Error::RowNotFound)?;
    let cut: bool = head.try_get("cut")?;
    let lowest: Option<Uuid> = head.try_get("lowest")?;
    Ok(Found {
        snapshot: head.try_get("snapshot")?,
        server: head.try_get("server")?,
        read_at: head.try_get("read_at")?,
        took: Duration::from_micros(head.try_get::<i64, _>("took")?.unsigned_abs()),
        cut_at: lowest.filter(|_| cut),
        skipped: head.try_get("skipped")?,
        events: events.iter().map(|row| envelope(row).map(Arc::new)).collect::<Result<_, _>>()?,
    })
}

fn envelope(row: &PgRow) -> Result<Envelope, sqlx::Error> {
    Ok(Envelope {
        id: EventId::from(row.try_get::<Uuid, _>("id")?),
        name: row.try_get("event_type")?,
        version: row.try_get::<i32, _>("event_version")?.unsigned_abs(),
        occurred_at: row.try_get("occurred_at")?,
        subject: Subject { kind: row.try_get("subject_type")?, id: row.try_get("subject_id")? },
        // Context that cannot be read must not keep the event from being seen.
        metadata: Metadata::from_json(row.try_get("metadata")?),
        payload: Payload::from_json(row.try_get::<&str, _>("payload")?),
    })
}
