//! look: where claims can begin without passing over dead rows.

use std::time::Duration;

use sqlx::{PgConnection, Row as _};

use super::{Statements, millis};

/// What a look saw. Times are seconds of the server's clock.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// Of each range and priority, in order: where its first job that is due and waits stands, when that is before `high`.
    pub(crate) low: Vec<Option<f64>>,
    /// The margin before the look.
    pub(crate) high: f64,
    /// How long it took the server.
    pub(crate) took: Duration,
}

/// Looks at these ranges from their heads.
pub(crate) async fn look(
    connection: &mut PgConnection,
    statements: &Statements,
    (job_types, versions): (&[&str], &[i32]),
    margin: Duration,
) -> Result<Seen, sqlx::Error> {
    let rows = sqlx::query(statements.look.text())
        .bind(job_types)
        .bind(versions)
        .bind(millis(margin))
        .fetch_all(connection)
        .await?;
    let mut seen = Seen { low: Vec::with_capacity(rows.len()), high: f64::NEG_INFINITY, took: Duration::ZERO };
    for row in &rows {
        seen.low.push(row.try_get(0)?);
        seen.high = row.try_get(1)?;
        let took = Duration::from_micros(row.try_get::<i64, _>(2)?.unsigned_abs());
        seen.took = seen.took.max(took);
    }
    Ok(seen)
}
