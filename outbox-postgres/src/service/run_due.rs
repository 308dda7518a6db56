//! Runs everything that is due, ticks of schedules too, and tells what ran: for tests.

use std::ops::Deref;

use outbox_core::transition::JobState;
use outbox_core::{EventId, JobId, SubscriberDescriptor};

use super::drain::{self, DrainError};
use super::scheduler;
use crate::outbox::Outbox;
use crate::step::claim::Claimed;
use crate::step::run::{Ran, Signals};

/// What [`Outbox::run_due`] ran, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RanDue(Vec<Executed>);

/// One execution of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// Stored name of its handler.
    pub handler: &'static str,
    /// The job.
    pub job: JobId,
    /// The event that caused it, unless it was enqueued or scheduled.
    pub event: Option<EventId>,
    /// Which execution of the job it was, counted from 1.
    pub attempt: u32,
    /// What the job is now: succeeded, failed, or pending when it is to be run again.
    pub state: JobState,
    /// Why it did not succeed.
    pub error: Option<String>,
}

impl RanDue {
    /// The handlers that ran, in order: one that ran twice stands there twice.
    #[must_use]
    pub fn handlers(&self) -> Vec<&'static str> {
        self.0.iter().map(|one| one.handler).collect()
    }
}

impl Deref for RanDue {
    type Target = [Executed];

    fn deref(&self) -> &[Executed] {
        &self.0
    }
}

impl Executed {
    pub(super) fn begun(handler: &SubscriberDescriptor, job: &Claimed) -> Self {
        Self {
            handler: handler.name,
            job: job.job_id,
            event: job.event_id,
            attempt: job.counts.attempts,
            state: JobState::Running,
            error: None,
        }
    }

    /// One whose lease was lost stays as running: whoever has it now runs it.
    pub(super) fn came_to(&mut self, ran: &Ran) {
        match ran {
            Ran::Committed { .. } => self.state = JobState::Succeeded,
            Ran::Unsettled(settlement) => {
                self.state = settlement.next.state();
                self.error.clone_from(&settlement.error);
            }
            Ran::LeaseLost => {}
        }
    }
}

pub(crate) async fn run_due(outbox: &Outbox) -> Result<RanDue, DrainError> {
    scheduler::take_due(outbox).await?;
    Ok(RanDue(drain::run_all(outbox, Signals::exact).await?))
}
