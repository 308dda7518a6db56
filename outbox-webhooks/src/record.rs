//! **record**: what an attempt came to, in one statement with what it means for the delivery and the endpoint.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres};
use tokio::time::timeout;

use crate::call::Answer;
use crate::id::DeliveryId;
use crate::webhooks::Webhooks;

/// Longest wait for the database before and behind a call.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Why the database gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("the database gave no answer within {LIMIT:?}")]
    Deadline,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A connection of the pool, before long.
pub(crate) async fn acquire(pool: &PgPool) -> Result<PoolConnection<Postgres>, RecordError> {
    Ok(timeout(LIMIT, pool.acquire()).await.map_err(|_| RecordError::Deadline)??)
}

/// Its answer, before long. The fate of a statement that was given up is open, and its connection goes to nobody else.
pub(crate) async fn within<T>(
    connection: &mut PoolConnection<Postgres>,
    statement: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
) -> Result<T, RecordError> {
    if let Ok(answer) = timeout(LIMIT, statement(&mut *connection)).await {
        return Ok(answer?);
    }
    connection.close_on_drop();
    Err(RecordError::Deadline)
}

/// An attempt that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) delivery: DeliveryId,
    pub(crate) attempt: i64,
}

impl Webhooks {
    /// The receiver has it.
    pub(crate) async fn record_delivered(&self, begun: Begun, answer: &Answer) -> Result<(), RecordError> {
        let mut connection = acquire(self.pool()).await?;
        let statement = sqlx::query(self.statements().delivered.text())
            .bind(begun.delivery.as_uuid())
            .bind(begun.attempt)
            .bind(i32::from(answer.status))
            .bind(&answer.excerpt);
        within(&mut connection, async |connection| statement.execute(connection).await.map(drop)).await
    }

    /// The receiver has it not, or has not said so.
    pub(crate) async fn record_not_delivered(
        &self,
        begun: Begun,
        answer: Option<&Answer>,
        complaint: &str,
    ) -> Result<(), RecordError> {
        let mut connection = acquire(self.pool()).await?;
        let statement = sqlx::query(self.statements().not_delivered.text())
            .bind(begun.delivery.as_uuid())
            .bind(begun.attempt)
            .bind(answer.map(|answer| i32::from(answer.status)))
            .bind(answer.map(|answer| &answer.excerpt))
            .bind(complaint);
        within(&mut connection, async |connection| statement.execute(connection).await.map(drop)).await
    }
}
