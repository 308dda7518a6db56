//! An operator's commands: look at failed jobs, redrive, cancel, retire, activate, find what nobody runs.

use outbox_core::JobId;

use crate::error::OperationError;
use crate::outbox::Outbox;
use crate::service::Roster;
use crate::step;
use crate::step::dead_letters::Word;
use crate::step::failed::FailedJob;
use crate::step::survey::Unclaimed;

impl Outbox {
    /// The newest failed jobs, at most `most`.
    ///
    /// # Errors
    /// When the database does.
    pub async fn failed(&self, most: u32) -> Result<Vec<FailedJob>, OperationError> {
        Ok(step::failed::failed(&mut *self.pool().acquire().await?, self.statements(), None, most).await?)
    }

    /// The newest failed jobs of one handler, at most `most`.
    ///
    /// # Errors
    /// When the database does.
    pub async fn failed_of(&self, handler: &str, most: u32) -> Result<Vec<FailedJob>, OperationError> {
        Ok(step::failed::failed(&mut *self.pool().acquire().await?, self.statements(), Some(handler), most).await?)
    }

    /// Gives a failed job a new life: due now, its attempts counted from nothing, its history kept. An effect whose inbox
    /// mark is there is not repeated.
    ///
    /// # Errors
    /// When no failed job has this id, it is [parked](Self::parked), its event has a live job of the same handler, or the database refuses.
    pub async fn redrive(&self, job: JobId) -> Result<(), OperationError> {
        self.redrive_as(job, false).await
    }

    /// As [`redrive`](Self::redrive), and removes the inbox mark first, so that an effect that is there is had once more.
    ///
    /// # Errors
    /// As [`redrive`](Self::redrive).
    pub async fn redrive_by_force(&self, job: JobId) -> Result<(), OperationError> {
        self.redrive_as(job, true).await
    }

    async fn redrive_as(&self, job: JobId, force: bool) -> Result<(), OperationError> {
        let mut connection = self.pool().acquire().await?;
        if step::redrive::redrive(&mut connection, self.schema(), job, force).await? {
            self.kick();
            return Ok(());
        }
        Err(match step::dead_letters::would_be(&mut connection, self.statements(), job).await? {
            Word::Parked => OperationError::Parked(job),
            Word::Live => OperationError::AnotherIsLive(job),
            // Somebody else was there in the meantime.
            Word::Redriven | Word::Gone => OperationError::NotFailed(job),
        })
    }

    /// Ends a pending or running job as failed, reason cancelled. What its handler does meanwhile is not undone, but changes
    /// nothing of the job any more. One that runs and whose handler says `unknown = park` is [parked](Self::parked): it may be calling.
    ///
    /// # Errors
    /// When no live job has this id, or the database refuses.
    pub async fn cancel(&self, job: JobId, why: &str) -> Result<(), OperationError> {
        let why = outbox_core::error_chain::sanitise(why);
        if step::cancel::cancel(&mut *self.pool().acquire().await?, self.schema(), job, &why).await? {
            Ok(())
        } else {
            Err(OperationError::NotLive(job))
        }
    }

    /// No event fans out to this subscriber any more, until it is activated again. Its waiting jobs are still run.
    ///
    /// # Errors
    /// When the catalogue does not know it, or the database refuses.
    pub async fn retire(&self, subscriber: &str) -> Result<(), OperationError> {
        let known = step::retire::retire(&mut *self.pool().acquire().await?, self.schema(), subscriber).await?;
        if known { Ok(()) } else { Err(OperationError::UnknownSubscriber(subscriber.to_owned())) }
    }

    /// Events fan out to a retired subscriber again, from now on.
    ///
    /// # Errors
    /// When the catalogue does not know it, or the database refuses.
    pub async fn activate(&self, subscriber: &str) -> Result<(), OperationError> {
        let known = step::retire::activate(&mut *self.pool().acquire().await?, self.schema(), subscriber).await?;
        if known { Ok(()) } else { Err(OperationError::UnknownSubscriber(subscriber.to_owned())) }
    }

    /// Waiting jobs that no living worker, and not this process, can run: a handler was renamed without an alias, or is not
    /// deployed. They keep waiting, uncharged.
    ///
    /// # Errors
    /// When the database does.
    pub async fn unclaimed(&self) -> Result<Vec<Unclaimed>, OperationError> {
        let ranges = Roster::of(self);
        let (names, versions) = ranges.pairs();
        Ok(step::survey::unclaimed(&mut *self.pool().acquire().await?, self.statements(), &names, &versions).await?)
    }
}
