//! Dead letters: failed jobs, chosen by what they have in common, looked at and redriven, with the result of each.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use chrono::{DateTime, Utc};
use outbox_core::transition::Reason;
use outbox_core::{JobId, name};

use crate::error::{OperationError, told};
use crate::outbox::Outbox;
use crate::sqlstate::{self, Class};
use crate::step;
use crate::step::dead_letters::{self, Choice, FailedAttempt, Meant, Place, Word};
use crate::step::failed::FailedJob;
use crate::step::parked::DeadLetter;

/// Most jobs of one run, unless said otherwise.
const MOST: u32 = 1_000;
/// Jobs redriven by one statement.
const BATCH: u32 = 100;

/// Which failed jobs are meant: see [`Outbox::dead_letters`].
#[derive(Debug, Clone)]
#[must_use = "it does nothing before it is asked"]
pub struct DeadLetters<'a> {
    outbox: &'a Outbox,
    choice: Choice,
    most: u32,
    force: bool,
}

/// What became of one failed job that was to be redriven.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redriven {
    /// It begins a new life, due now; or would, in a dry run.
    Yes,
    /// It is parked: nobody knows whether it had its effect, and the owner of the effect has to [answer](Outbox::parked) first.
    Parked,
    /// Its event has a live job of the same handler already.
    Live,
    /// It is not failed any more: somebody else was there.
    Gone,
    /// The database refused, and why.
    Refused(String),
}

/// One failed job that was to be redriven, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedrivenJob {
    /// Its id.
    pub job: JobId,
    /// Stored name of its handler.
    pub handler: String,
    /// Name of its event, or its own where it is a command.
    pub message: String,
    /// What became of it.
    pub result: Redriven,
}

/// What a redrive of many came to, or would come to. Printed, it is a line for each message, handler and result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedriveReport {
    /// Each job that was meant, those that failed first first.
    pub jobs: Vec<RedrivenJob>,
    /// Whether there are more than the run was to take.
    pub more: bool,
}

impl RedriveReport {
    /// How many came to this.
    #[must_use]
    pub fn count(&self, result: &Redriven) -> usize {
        self.jobs.iter().filter(|job| job.result == *result).count()
    }
}

impl From<Word> for Redriven {
    fn from(word: Word) -> Self {
        match word {
            Word::Redriven => Self::Yes,
            Word::Parked => Self::Parked,
            Word::Live => Self::Live,
            Word::Gone => Self::Gone,
        }
    }
}

impl Display for Redriven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("redriven"),
            Self::Parked => f.write_str("parked: the owner of its effect answers first"),
            Self::Live => f.write_str("its event has a live job of this handler"),
            Self::Gone => f.write_str("not failed any more"),
            Self::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

impl Display for RedriveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
        for job in &self.jobs {
            *lines.entry((&job.message, &job.handler, job.result.to_string())).or_default() += 1;
        }
        for ((message, handler, result), count) in lines {
            writeln!(f, "{message} -> {handler}: {count} {result}")?;
        }
        if self.more { writeln!(f, "and there are more") } else { Ok(()) }
    }
}

impl Outbox {
    /// Failed jobs, chosen by what they have in common: to be listed, inspected and redriven, one, many or all.
    ///
    /// ```no_run
    /// # async fn example(outbox: &outbox_postgres::Outbox) -> Result<(), outbox_postgres::OperationError> {
    /// let letters = outbox.dead_letters().event("order.*").handler("search.index");
    /// print!("{}", letters.dry_run().await?); // asks first
    /// let report = letters.redrive().await?;
    /// for job in &report.jobs {
    ///     println!("{} {}", job.job, job.result);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn dead_letters(&self) -> DeadLetters<'_> {
        DeadLetters { outbox: self, choice: Choice::default(), most: MOST, force: false }
    }
}

impl DeadLetters<'_> {
    /// Only those of this handler, by the name that they are stored under.
    pub fn handler(mut self, name: impl Into<String>) -> Self {
        self.choice.handler = Some(name.into());
        self
    }

    /// Only those of events (or commands) of this name, or of this pattern (`order.*`).
    pub fn event(mut self, pattern: &str) -> Self {
        self.choice.message = match pattern.strip_suffix('*') {
            Some("") => None,
            Some(prefix) => Some((prefix.to_owned(), true)),
            None => Some((pattern.to_owned(), false)),
        };
        self
    }

    /// Only those that ended for this reason.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.choice.reason = Some(reason.as_str());
        self
    }

    /// Only those of events of this subject.
    #[allow(clippy::needless_pass_by_value, reason = "a number or a text, as it is at hand")]
    pub fn subject(mut self, kind: impl Into<String>, id: impl Display) -> Self {
        self.choice.subject = Some((kind.into(), id.to_string()));
        self
    }

    /// Only those that failed at this moment or later.
    pub fn from(mut self, moment: DateTime<Utc>) -> Self {
        self.choice.from = Some(moment);
        self
    }

    /// Only those that failed before this moment.
    pub fn until(mut self, moment: DateTime<Utc>) -> Self {
        self.choice.until = Some(moment);
        self
    }

    /// Only these.
    pub fn ids(mut self, jobs: impl IntoIterator<Item = JobId>) -> Self {
        self.choice.ids = Some(jobs.into_iter().map(JobId::as_uuid).collect());
        self
    }

    /// So many at most, those that failed first first. Default: 1,000.
    pub fn most(mut self, jobs: u32) -> Self {
        self.most = jobs;
        self
    }

    /// A redrive removes the marks of effects too, as [`redrive_by_force`](Outbox::redrive_by_force) does, and runs what has expired. What is parked stays so.
    pub fn by_force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Those that are meant, those that failed first first.
    ///
    /// # Errors
    /// When the name of the event is none, or the database refuses.
    pub async fn list(&self) -> Result<Vec<FailedJob>, OperationError> {
        let (mut place, mut found) = (Some(Place::default()), Vec::new());
        while let Some(at) = place.filter(|_| found.len() < self.most as usize) {
            let (meant, next) = self.look(at, self.most - u32::try_from(found.len()).unwrap_or(0)).await?;
            let ids: Vec<_> = meant.iter().map(|one| one.job.as_uuid()).collect();
            let mut connection = self.outbox.pool().acquire().await?;
            let mut jobs = step::failed::those(&mut connection, self.outbox.statements(), &ids).await?;
            // Newest first, as the other list has it.
            jobs.reverse();
            found.append(&mut jobs);
            place = next;
        }
        Ok(found)
    }

    /// One of them, whatever was chosen: with its message, undecoded, and each of its failed executions. `None` when no failed job has this id.
    ///
    /// # Errors
    /// When the database does.
    pub async fn inspect(&self, job: JobId) -> Result<Option<(DeadLetter, Vec<FailedAttempt>)>, OperationError> {
        let mut connection = self.outbox.pool().acquire().await?;
        let statements = self.outbox.statements();
        let Some(letter) = step::parked::inspect(&mut connection, statements, job).await? else { return Ok(None) };
        Ok(Some((letter, dead_letters::attempts(&mut connection, statements, job).await?)))
    }

    /// What a redrive would come to, and nothing else.
    ///
    /// # Errors
    /// As [`redrive`](Self::redrive).
    pub async fn dry_run(&self) -> Result<RedriveReport, OperationError> {
        self.go(false).await
    }

    /// Redrives those that are meant, a bounded batch a transaction, and says of each what became of it. What fails again meanwhile is not
    /// taken up again.
    ///
    /// # Errors
    /// When the name of the event is none, or the database is not there. What it refuses of one job is that job's result.
    ///
    /// # Cancel safety
    /// Dropped in the middle, some are redriven. Run again, it takes up the others.
    pub async fn redrive(&self) -> Result<RedriveReport, OperationError> {
        self.go(true).await
    }

    async fn go(&self, write: bool) -> Result<RedriveReport, OperationError> {
        let (mut report, mut place) = (RedriveReport::default(), Some(Place::default()));
        while let Some(at) = place {
            let room = self.most.saturating_sub(u32::try_from(report.jobs.len()).unwrap_or(u32::MAX));
            // With no room left, one more only says that there is one.
            let (meant, next) = self.look(at, room.clamp(1, BATCH)).await?;
            if room == 0 && !meant.is_empty() {
                report.more = true;
                break;
            }
            let results = self.batch(&meant, write).await?;
            if write && results.contains(&Redriven::Yes) {
                self.outbox.kick();
            }
            report.jobs.extend(meant.into_iter().zip(results).map(|(one, result)| RedrivenJob {
                job: one.job,
                handler: one.handler,
                message: one.message,
                result,
            }));
            place = next;
        }
        tracing::info!(
            write,
            jobs = report.jobs.len(),
            redriven = report.count(&Redriven::Yes),
            "redrive of dead letters"
        );
        Ok(report)
    }

    async fn look(&self, place: Place, most: u32) -> Result<(Vec<Meant>, Option<Place>), OperationError> {
        if let Some((message, is_prefix)) = &self.choice.message {
            let said = if *is_prefix { format!("{message}*") } else { message.clone() };
            if !name::is_pattern(&said) {
                return Err(OperationError::NoEvent(said));
            }
        }
        let mut connection = self.outbox.pool().acquire().await?;
        Ok(dead_letters::look(&mut connection, self.outbox.statements(), &self.choice, place, most).await?)
    }

    /// All of a batch at once; where the database refuses that, one by one, so that one job keeps no other.
    async fn batch(&self, meant: &[Meant], write: bool) -> Result<Vec<Redriven>, OperationError> {
        let jobs: Vec<_> = meant.iter().map(|one| one.job).collect();
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        match self.redriven(&jobs, write).await {
            Err(error) if is_of_a_row(&error) => {}
            results => return Ok(results?),
        }
        let mut results = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.redriven(&[job], write).await {
                Ok(mut one) => results.append(&mut one),
                Err(error) if is_of_a_row(&error) => {
                    let error = OperationError::from(error);
                    results.push(Redriven::Refused(told(&error)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(results)
    }

    async fn redriven(&self, jobs: &[JobId], write: bool) -> Result<Vec<Redriven>, sqlx::Error> {
        let mut connection = self.outbox.pool().acquire().await?;
        let statements = self.outbox.statements();
        let mut words = dead_letters::redrive(&mut connection, statements, jobs, self.force, write).await?;
        if write {
            // The statement does not see what it has written itself: the second failed job of one event seems gone to it, where the first has
            // made a live one. Asked once more, it says what is so now.
            let (places, gone): (Vec<_>, Vec<_>) = jobs
                .iter()
                .enumerate()
                .filter(|(place, _)| words[*place] == Word::Gone)
                .map(|(place, job)| (place, *job))
                .unzip();
            // What the first has written is committed, whatever becomes of this one.
            if !gone.is_empty()
                && let Ok(again) = dead_letters::redrive(&mut connection, statements, &gone, self.force, write).await
            {
                places.into_iter().zip(again).for_each(|(place, word)| words[place] = word);
            }
        }
        Ok(words.into_iter().map(Redriven::from).collect())
    }
}

/// Whether it may be one row that is to blame.
fn is_of_a_row(error: &sqlx::Error) -> bool {
    !matches!(sqlstate::classify(error), Class::Connection | Class::Setup)
}
