//! **redeliver**: a delivery once more, under the same `webhook-id`.

use outbox::{Outbox, PublishError};
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use crate::deliver::Deliver;
use crate::endpoint::refused;
use crate::id::DeliveryId;
use crate::webhooks::Webhooks;

/// Why a delivery is not sent once more. All but `Database` and `Enqueue` leave the transaction usable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RedeliverError {
    /// There is no open transaction, and job and delivery are to commit together.
    #[error("redelivering takes a transaction: begin one, for instance by `outbox.begin()`")]
    NoTransaction,
    /// There is none with this id.
    #[error("there is no delivery {0}")]
    NotFound(DeliveryId),
    /// It is on its way already.
    #[error("the delivery {0} is on its way already")]
    Pending(DeliveryId),
    /// Its endpoint gets nothing.
    #[error("its endpoint is disabled ({0}): enable it first")]
    Disabled(String),
    /// The job was refused.
    #[error("the job of the delivery cannot be enqueued")]
    Enqueue(#[from] PublishError),
    /// The database refused.
    #[error("{}", refused(.0))]
    Database(#[from] sqlx::Error),
}

impl Webhooks {
    /// Sends a delivery that has failed, or one that has arrived, once more in the caller's transaction: the same bytes under the same
    /// `webhook-id`, signed anew, with all attempts. A receiver that has had it knows it by its id.
    ///
    /// The failed job of a delivery gets a new life, as by `outbox.redrive(..)`, which takes the right to do that; where there is none,
    /// there is a new job. Of any number of calls at once, one has its way.
    ///
    /// # Errors
    /// See [`RedeliverError`].
    pub async fn redeliver(
        &self,
        outbox: &Outbox,
        transaction: &mut PgConnection,
        id: DeliveryId,
    ) -> Result<(), RedeliverError> {
        if !transaction.is_in_transaction() {
            return Err(RedeliverError::NoTransaction);
        }
        let statements = self.statements();
        let lock = sqlx::query(statements.redeliver_lock.text()).bind(id.as_uuid());
        let row = lock.fetch_optional(&mut *transaction).await?.ok_or(RedeliverError::NotFound(id))?;
        let job: Option<Uuid> = row.try_get("job_id")?;
        let is_live = sqlx::query_scalar(statements.redeliver_look.text()).bind(job);
        if is_live.fetch_one(&mut *transaction).await? {
            return Err(RedeliverError::Pending(id));
        }
        if let Some(reason) = row.try_get("disabled_reason")? {
            return Err(RedeliverError::Disabled(reason));
        }
        let redrive = sqlx::query_scalar(statements.redrive.text()).bind(job);
        let is_redriven: bool = redrive.fetch_one(&mut *transaction).await?;
        let job = if is_redriven {
            job
        } else {
            let deliver = Deliver { delivery: id, endpoint: row.try_get::<Uuid, _>("endpoint_id")?.into() };
            Some(outbox.enqueue(&mut *transaction, &deliver).await?.job_id.into())
        };
        let assign = sqlx::query(statements.redeliver_job.text()).bind(id.as_uuid()).bind(job);
        assign.execute(transaction).await?;
        Ok(())
    }
}
