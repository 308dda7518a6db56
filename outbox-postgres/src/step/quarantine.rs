//! quarantine: kept, listed, read, taken for another try, removed.

use std::collections::BTreeMap;

use outbox_core::error_chain::sanitise;
use outbox_core::{EventId, QuarantineId};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use ulid::Ulid;
use uuid::Uuid;

use super::Statements;
use crate::identity;
use crate::ingest::{Arrival, QuarantineClass, Quarantined, Selection, Unfit};

/// The row that a message has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) id: QuarantineId,
    pub(crate) is_new: bool,
}

/// A message that is tried once more.
#[derive(Debug)]
pub(crate) struct InHand {
    pub(crate) id: QuarantineId,
    pub(crate) source: String,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

/// Messages by their digests, and how often each comes.
type Each<'a> = BTreeMap<[u8; 32], (&'a Arrival<'a>, &'a Unfit, i64)>;

/// Keeps messages, each digest once; answers for each in its order.
pub(crate) async fn keep(
    connection: &mut PgConnection,
    statements: &Statements,
    source: &str,
    messages: &[(&Arrival<'_>, &Unfit)],
) -> Result<Vec<Kept>, sqlx::Error> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    // Ascending, as everybody writes them.
    let mut each: Each<'_> = BTreeMap::new();
    for (arrival, unfit) in messages {
        each.entry(arrival.digest).and_modify(|(.., times)| *times += 1).or_insert((arrival, unfit, 1));
    }
    let kept = write(connection, statements, source, &each).await?;
    let mut of: BTreeMap<_, _> = each.keys().copied().zip(kept).collect();
    let mut answers = Vec::with_capacity(messages.len());
    for (arrival, _) in messages {
        let Some(kept) = of.get_mut(&arrival.digest) else { return Err(sqlx::Error::RowNotFound) };
        answers.push(*kept);
        // One that comes twice in a batch is new once.
        kept.is_new = false;
    }
    Ok(answers)
}

/// The same with no messages: what it would be refused for, it is.
pub(crate) async fn probe(connection: &mut PgConnection, statements: &Statements) -> Result<(), sqlx::Error> {
    write(connection, statements, "", &BTreeMap::new()).await.map(drop)
}

async fn write(
    connection: &mut PgConnection,
    statements: &Statements,
    source: &str,
    each: &Each<'_>,
) -> Result<Vec<Kept>, sqlx::Error> {
    let all = |of: &dyn Fn(&Unfit) -> Option<String>| each.values().map(|(_, unfit, _)| of(unfit)).collect::<Vec<_>>();
    let rows = sqlx::query(statements.quarantine.text())
        .bind(each.iter().map(|_| Uuid::from(identity::quarantine())).collect::<Vec<_>>())
        .bind(source)
        .bind(each.keys().map(<[u8; 32]>::as_slice).collect::<Vec<_>>())
        .bind(each.values().map(|(.., times)| *times).collect::<Vec<_>>())
        .bind(all(&|unfit| Some(unfit.class.as_str().to_owned())))
        .bind(all(&|unfit| Some(sanitise(&unfit.reason))))
        .bind(each.values().map(|(_, unfit, _)| unfit.event_id.map(EventId::as_uuid)).collect::<Vec<_>>())
        .bind(all(&|unfit| unfit.event_type.as_deref().map(sanitise)))
        .bind(each.values().map(|(_, unfit, _)| unfit.event_version.map(u32::cast_signed)).collect::<Vec<_>>())
        .bind(each.values().map(|(arrival, ..)| arrival.headers).collect::<Vec<_>>())
        .bind(each.values().map(|(arrival, ..)| arrival.body).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| Ok(Kept { id: id(row)?, is_new: row.try_get("is_new")? })).collect()
}

fn id(row: &PgRow) -> Result<QuarantineId, sqlx::Error> {
    Ok(QuarantineId::from_ulid(Ulid::from(row.try_get::<Uuid, _>("id")?.as_u128())))
}

pub(crate) async fn list(
    connection: &mut PgConnection,
    statements: &Statements,
    selection: &Selection,
    behind: Option<QuarantineId>,
    most: u32,
) -> Result<Vec<Quarantined>, sqlx::Error> {
    let ids = selection.ids.as_ref().map(|ids| ids.iter().map(|id| id.as_uuid()).collect::<Vec<_>>());
    let rows = sqlx::query(statements.quarantine_list.text())
        .bind(behind.map(QuarantineId::as_uuid))
        .bind(&selection.source)
        .bind(selection.class.map(QuarantineClass::as_str))
        .bind(&selection.event_type)
        .bind(ids)
        .bind(i32::try_from(most).unwrap_or(i32::MAX))
        .fetch_all(connection)
        .await?;
    rows.iter().map(listed).collect()
}

fn listed(row: &PgRow) -> Result<Quarantined, sqlx::Error> {
    Ok(Quarantined {
        id: id(row)?,
        source: row.try_get("source")?,
        first_at: row.try_get("first_at")?,
        last_at: row.try_get("last_at")?,
        times: row.try_get::<i64, _>("times")?.unsigned_abs(),
        class: row.try_get("class")?,
        reason: row.try_get("reason")?,
        event_id: row.try_get::<Option<Uuid>, _>("event_id")?.map(EventId::from),
        event_type: row.try_get("event_type")?,
        event_version: row.try_get::<Option<i32>, _>("event_version")?.map(i32::cast_unsigned),
    })
}

/// Headers as JSON, and the body.
pub(crate) async fn get(
    connection: &mut PgConnection,
    statements: &Statements,
    id: QuarantineId,
) -> Result<Option<(String, Vec<u8>)>, sqlx::Error> {
    let row = sqlx::query(statements.quarantine_get.text()).bind(id.as_uuid()).fetch_optional(connection).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

pub(crate) async fn take(
    connection: &mut PgConnection,
    statements: &Statements,
    ids: &[QuarantineId],
) -> Result<Vec<InHand>, sqlx::Error> {
    let rows = sqlx::query(statements.quarantine_take.text()).bind(uuids(ids)).fetch_all(connection).await?;
    let read = |row: &PgRow| {
        Ok(InHand {
            id: id(row)?,
            source: row.try_get("source")?,
            headers: row.try_get("headers")?,
            body: row.try_get("body")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Answers which of them were there.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    statements: &Statements,
    ids: &[QuarantineId],
) -> Result<Vec<QuarantineId>, sqlx::Error> {
    let rows = sqlx::query(statements.quarantine_remove.text()).bind(uuids(ids)).fetch_all(connection).await?;
    rows.iter().map(id).collect()
}

/// Says what is wrong with them now.
pub(crate) async fn again(
    connection: &mut PgConnection,
    statements: &Statements,
    unfit: &[(QuarantineId, Unfit)],
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(statements.quarantine_again.text())
        .bind(unfit.iter().map(|(id, _)| id.as_uuid()).collect::<Vec<_>>())
        .bind(unfit.iter().map(|(_, unfit)| unfit.class.as_str()).collect::<Vec<_>>())
        .bind(unfit.iter().map(|(_, unfit)| sanitise(&unfit.reason)).collect::<Vec<_>>());
    query.execute(connection).await.map(drop)
}

fn uuids(ids: &[QuarantineId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.as_uuid()).collect()
}
