//! An operator's view of the schedules: what is due when, and the word that pauses, resumes or runs one.

use outbox_core::JobId;
use outbox_core::timetable::Timetable;

use crate::error::OperationError;
use crate::identity;
use crate::outbox::Outbox;
use crate::step::schedule_status::{self, ByHand, ScheduleStatus};

/// How often a schedule is read again that was declared otherwise in the very moment in which it is resumed.
const TRIES: usize = 10;

/// The schedules in this outbox's tables, those of other binaries too: see [`Outbox::schedules`].
///
/// ```no_run
/// # async fn example(outbox: &outbox_postgres::Outbox) -> Result<(), outbox_postgres::OperationError> {
/// for schedule in outbox.schedules().all().await? {
///     println!("{}: last {:?}, next {:?}", schedule.name, schedule.last_tick, schedule.next_tick);
/// }
/// outbox.schedules().pause("inventory.low_stock_scan").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Schedules<'a>(&'a Outbox);

impl Outbox {
    /// The schedules: their next and last ticks, and the words that pause, resume and run one.
    #[must_use]
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules(self)
    }
}

impl Schedules<'_> {
    /// All of them, by name; also those that no binary declares any more.
    ///
    /// # Errors
    /// When the database does.
    pub async fn all(&self) -> Result<Vec<ScheduleStatus>, OperationError> {
        let outbox = self.0;
        Ok(schedule_status::status(&mut *outbox.pool().acquire().await?, outbox.statements(), None).await?)
    }

    /// The one of this name.
    ///
    /// # Errors
    /// When there is none, or the database refuses.
    pub async fn of(&self, name: &str) -> Result<ScheduleStatus, OperationError> {
        let outbox = self.0;
        let found =
            schedule_status::status(&mut *outbox.pool().acquire().await?, outbox.statements(), Some(name)).await?;
        found.into_iter().next().ok_or_else(|| OperationError::UnknownSchedule(name.to_owned()))
    }

    /// Runs it once, now, apart from its ticks, which stay as they are; also while it is paused. Its [`Tick`](outbox_core::Tick) says that
    /// it was asked for by hand.
    ///
    /// In tests: `outbox.schedules().run_now(..)`, then `outbox.drain()`. By its ticks, on a clock that the test moves:
    /// [`Outbox::run_due`].
    ///
    /// # Errors
    /// When there is no such schedule, when a run of it has not ended and it does not say `overlap = allow`, or when the database refuses.
    ///
    /// # Cancel safety
    /// Dropped in the middle, it is run or not.
    pub async fn run_now(&self, name: &str) -> Result<JobId, OperationError> {
        let (outbox, job) = (self.0, identity::job());
        match schedule_status::run_now(&mut *outbox.pool().acquire().await?, outbox.schema(), name, job).await? {
            ByHand::Run => {
                outbox.kick();
                Ok(job)
            }
            ByHand::Busy => Err(OperationError::StillRunning(name.to_owned())),
            ByHand::Unknown => Err(OperationError::UnknownSchedule(name.to_owned())),
        }
    }

    /// No tick of it is taken any more, over restarts and releases, until it is resumed. Jobs that it has are still run.
    ///
    /// # Errors
    /// When there is no such schedule, or the database refuses.
    pub async fn pause(&self, name: &str) -> Result<(), OperationError> {
        let outbox = self.0;
        let known = schedule_status::pause(&mut *outbox.pool().acquire().await?, outbox.schema(), name).await?;
        if known { Ok(()) } else { Err(OperationError::UnknownSchedule(name.to_owned())) }
    }

    /// It goes on with its first tick behind now; those of the pause are not caught up. Nothing happens to one that is not paused.
    ///
    /// # Errors
    /// When there is no such schedule, when a later release has declared it in a way that this one cannot read, or when the database
    /// refuses.
    pub async fn resume(&self, name: &str) -> Result<(), OperationError> {
        let outbox = self.0;
        for _ in 0..TRIES {
            let stands = self.of(name).await?;
            if stands.paused_at.is_none() {
                return Ok(());
            }
            let times = Timetable::stored(&stands.cadence, &stands.zone)
                .map_err(|source| OperationError::UnreadableSchedule { name: name.to_owned(), source })?;
            let next_tick = times.next_after(stands.now);
            let mut connection = outbox.pool().acquire().await?;
            if schedule_status::resume(&mut connection, outbox.schema(), &stands, next_tick).await? {
                break;
            }
        }
        Ok(())
    }
}
