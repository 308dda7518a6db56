//! depth: how much waits, how much failed or is parked, and what nobody runs; for gauges.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::Statements;

/// Of one handler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Depth {
    pub(crate) handler: String,
    /// Jobs that are due, counted up to 10,000 a version.
    pub(crate) due: u64,
    /// Since when the oldest of them is, in seconds of the server's clock.
    pub(crate) oldest: Option<f64>,
    /// Failed jobs among the newest 10,000 of all handlers.
    pub(crate) failed: u64,
    /// Jobs that wait for the answer of their effect's owner, of the oldest 10,000 of all handlers.
    pub(crate) parked: u64,
    /// Since when the oldest of them does, in seconds of the server's clock.
    pub(crate) oldest_parked: Option<f64>,
    /// Versions of which no living worker runs the due jobs.
    pub(crate) starving: Vec<OfVersion>,
}

/// Due jobs of one version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfVersion {
    /// 0 where the handler takes any.
    pub(crate) version: u32,
    pub(crate) due: u64,
    /// How long the oldest has been due, in seconds.
    pub(crate) late: f64,
}

/// Those of every handler that has any.
pub(crate) async fn depth(connection: &mut PgConnection, statements: &Statements) -> Result<Vec<Depth>, sqlx::Error> {
    let rows = sqlx::query(statements.depth.text()).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

fn read(row: &PgRow) -> Result<Depth, sqlx::Error> {
    let count = |column| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(column)?.unsigned_abs());
    Ok(Depth {
        handler: row.try_get("handler")?,
        due: count("due")?,
        oldest: row.try_get("oldest")?,
        failed: count("failed")?,
        parked: count("parked")?,
        oldest_parked: row.try_get("oldest_parked")?,
        starving: starving(row)?,
    })
}

fn starving(row: &PgRow) -> Result<Vec<OfVersion>, sqlx::Error> {
    let (versions, due): (Vec<i32>, Vec<i64>) = (row.try_get("versions")?, row.try_get("starving")?);
    let late: Vec<f64> = row.try_get("late")?;
    let of_version = |((version, due), late): ((i32, i64), f64)| OfVersion {
        version: version.cast_unsigned(),
        due: due.unsigned_abs(),
        late,
    };
    Ok(versions.into_iter().zip(due).zip(late).map(of_version).collect())
}
