//! recover: what stands as held by this worker, a chunk at a time.

use outbox_core::JobId;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;

/// Rows looked at by one statement.
const CHUNK: i32 = 20_000;

/// What one chunk shows.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where to go on; `None` at the end.
    pub(crate) last: Option<Uuid>,
    pub(crate) jobs: Vec<(JobId, Uuid)>,
    /// Workers that hold something and have no row.
    pub(crate) rowless: Vec<Uuid>,
}

pub(crate) async fn recover(
    connection: &mut PgConnection,
    statements: &Statements,
    worker: Uuid,
    after: Option<Uuid>,
) -> Result<Held, sqlx::Error> {
    let row = sqlx::query(statements.recover.text()).bind(worker).bind(after).bind(CHUNK).fetch_one(connection).await?;
    let ids: Vec<Uuid> = row.try_get("ids")?;
    let claims: Vec<Uuid> = row.try_get("claims")?;
    let jobs = ids.into_iter().map(JobId::from).zip(claims).collect();
    Ok(Held { last: row.try_get("last")?, jobs, rowless: row.try_get("rowless")? })
}
