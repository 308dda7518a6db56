//! Jobs of which nobody knows whether they had their effect: they wait for the answer of the effect's owner, and are not tried again
//! before.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::transition::Answer;
use outbox_core::{BoxError, JobId};
use uuid::Uuid;

use crate::error::{OperationError, told};
use crate::outbox::Outbox;
use crate::step::dead_letters::{self, Word};
use crate::step::parked::{self, DeadLetter, Page};

/// What a log says of a parked job, behind what happened to it.
pub(crate) const ASK_ITS_OWNER: &str = "it is not tried again before the owner of its effect has answered: `outbox.parked().resolve(job, ..)` for it, `.ask(..)` for all";
/// Jobs read by one statement.
const PAGE: u32 = 100;
/// How long a job has been parked before its owner is asked by [`Parked::ask`]: a worker that was only frozen may still be calling.
const PARKED_FOR: Duration = Duration::from_mins(1);
/// How long an owner may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How many questions in a row may come to nothing before the others are left to the next run: the owner is away.
const IN_VAIN: u32 = 5;

/// Where the runs that ended early have come to, by the handler that they were about, so that a few jobs about which nobody answers do not keep
/// the others from being asked about. In memory only: another process begins with the oldest.
#[derive(Debug, Default)]
pub(crate) struct AskedTo(Mutex<BTreeMap<Option<String>, Behind>>);

/// Behind this moment and job.
type Behind = (DateTime<Utc>, Uuid);

impl AskedTo {
    fn of(&self, handler: Option<&String>) -> Option<Behind> {
        self.places().get(&handler.cloned()).copied()
    }

    /// `None`: nobody is left to be asked about, and the next run begins with the oldest again.
    fn ended(&self, handler: Option<&String>, behind: Option<Behind>) {
        match behind {
            Some(behind) => drop(self.places().insert(handler.cloned(), behind)),
            None => drop(self.places().remove(&handler.cloned())),
        }
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<Option<String>, Behind>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Jobs that are parked, as failed with reason unknown: see [`Outbox::parked`].
#[derive(Debug, Clone)]
#[must_use = "it does nothing before it is asked"]
pub struct Parked<'a> {
    outbox: &'a Outbox,
    handler: Option<String>,
    least: Option<Duration>,
}

/// Whoever knows whether an effect took place: the payment provider, the ledger, another service.
///
/// ```
/// use outbox_core::{Answer, BoxError};
/// use outbox_postgres::{DeadLetter, EffectOwner};
///
/// struct Provider;
/// # impl Provider { async fn find(&self, _: &str) -> Result<Option<&'static str>, std::io::Error> { Ok(Some("settled")) } }
///
/// impl EffectOwner for Provider {
///     async fn ask(&self, job: &DeadLetter) -> Result<Option<Answer>, BoxError> {
///         Ok(match self.find(job.key.as_str()).await? {
///             Some("settled") => Some(Answer::TookEffect),
///             Some(_) => None, // still under way there: asked again by the next run
///             None => Some(Answer::DidNot),
///         })
///     }
/// }
/// ```
pub trait EffectOwner: Sync {
    /// Whether the effect of this job took place, by its [`key`](DeadLetter::key); `None` while that cannot be said. [`Answer::DidNot`] has to mean that it will not
    /// any more either, by a call that is still under way.
    fn ask(&self, job: &DeadLetter) -> impl Future<Output = Result<Option<Answer>, BoxError>> + Send;
}

/// What the owners of effects answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// Took effect: succeeded now, without another call.
    pub took_effect: u64,
    /// Did not: due again now.
    pub did_not: u64,
    /// Stay parked, because the owner could not say; or because it did not take effect, and another job of the same event and handler is live.
    pub open: u64,
    /// Stay parked, because the owner did not answer, or with an error.
    pub failed: u64,
    /// Whether the run ended before all were asked, because the owner is away.
    pub ended_early: bool,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { took_effect, did_not, open, failed, ended_early } = self;
        write!(f, "{took_effect} took effect, {did_not} did not, {open} open, {failed} without an answer")?;
        if *ended_early { f.write_str(", others not asked because the owner is away") } else { Ok(()) }
    }
}

impl Outbox {
    /// Jobs of which nobody knows whether they had their effect: their handler returned [`Failure::outcome_unknown`](outbox_core::Failure::outcome_unknown), or it says
    /// `unknown = park` and its call was broken off by its timeout, a panic or the end of its worker. They are failed, reason unknown; no retry, rescue, redrive or
    /// retention touches them until the owner of the effect has answered.
    ///
    /// ```no_run
    /// # async fn example(outbox: &outbox_postgres::Outbox) -> Result<(), outbox_postgres::OperationError> {
    /// use outbox_core::Answer;
    ///
    /// for parked in outbox.parked().of("billing.charge").list(100).await? {
    ///     println!("{} {} {:?}", parked.job.id, parked.key, parked.job.last_error); // look it up at the provider
    ///     outbox.parked().resolve(parked.job.id, Answer::TookEffect).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn parked(&self) -> Parked<'_> {
        Parked { outbox: self, handler: None, least: None }
    }
}

impl Parked<'_> {
    /// Only those of this handler, by the name that they are stored under.
    pub fn of(mut self, handler: impl Into<String>) -> Self {
        self.handler = Some(handler.into());
        self
    }

    /// Only those that have been parked for this long at least. Default: all are listed; a minute before [`ask`](Self::ask) asks.
    pub fn parked_for(mut self, time: Duration) -> Self {
        self.least = Some(time);
        self
    }

    fn page(&self, most: u32) -> Page<'_> {
        let parked_for = self.least.unwrap_or_default();
        Page { handler: self.handler.as_deref(), behind: None, most, parked_for }
    }

    async fn read(&self, page: Page<'_>) -> Result<Vec<DeadLetter>, OperationError> {
        let mut connection = self.outbox.pool().acquire().await?;
        Ok(parked::parked(&mut connection, self.outbox.statements(), page).await?)
    }

    /// The oldest of them, at most `most`, with their messages and the keys that their effects are known by.
    ///
    /// # Errors
    /// When the database does.
    pub async fn list(&self, most: u32) -> Result<Vec<DeadLetter>, OperationError> {
        self.read(self.page(most)).await
    }

    /// The owner's answer about one of them. It took effect: the job has succeeded, reason confirmed, its handler is not called again, and a
    /// replay of its event passes it over. It did not: the job begins a new life, due now.
    ///
    /// # Errors
    /// When no parked job has this id; when it did not, and its event has a live job of the same handler, which a second one would double; or
    /// when the database refuses.
    ///
    /// # Cancel safety
    /// Dropped in the middle, the answer is taken or not. Given again, it is an error when it was.
    pub async fn resolve(&self, job: JobId, answer: Answer) -> Result<(), OperationError> {
        match self.settle(job, answer).await? {
            Settled::Yes => Ok(()),
            Settled::AnotherIsLive => Err(OperationError::AnotherIsLive(job)),
            Settled::NotParked => Err(OperationError::NotParked(job)),
        }
    }

    async fn settle(&self, job: JobId, answer: Answer) -> Result<Settled, OperationError> {
        let took_effect = answer == Answer::TookEffect;
        let mut connection = self.outbox.pool().acquire().await?;
        if parked::resolve(&mut connection, self.outbox.schema(), job, took_effect).await? {
            tracing::info!(%job, ?answer, "the owner of its effect has answered");
            if answer == Answer::DidNot {
                self.outbox.kick();
            }
            return Ok(Settled::Yes);
        }
        // It stands there, and the answer did not move it.
        Ok(match dead_letters::would_be(&mut connection, self.outbox.statements(), job).await? {
            Word::Parked => Settled::AnotherIsLive,
            Word::Redriven | Word::Live | Word::Gone => Settled::NotParked,
        })
    }

    /// Asks the owner of the effects about each of them, oldest first, and acts by the answers; from a `#[scheduled]` function, say. Each question has half a minute;
    /// after five in a row that come to nothing the rest is left to the next run of this process, which begins behind them: they may be what is wrong, and not
    /// their owner.
    ///
    /// # Errors
    /// When the database refuses. What the owner refuses is counted, and logged.
    ///
    /// # Cancel safety
    /// Dropped in the middle, some are answered. Run again, it asks about the others.
    pub async fn ask<O: EffectOwner>(&self, owner: &O) -> Result<Asked, OperationError> {
        let behind = self.outbox.inner().asked_to.of(self.handler.as_ref());
        let mut page = Page { parked_for: self.least.unwrap_or(PARKED_FOR), behind, ..self.page(PAGE) };
        let (mut asked, mut in_vain) = (Asked::default(), 0);
        loop {
            let jobs = self.read(page).await?;
            for job in &jobs {
                page.behind = Some((job.job.failed_at, job.job.id.as_uuid()));
                match question(owner, job).await {
                    Ok(answer) => {
                        in_vain = 0;
                        self.act(job, answer, &mut asked).await?;
                    }
                    Err(error) => {
                        in_vain += 1;
                        asked.failed += 1;
                        let (id, handler) = (job.job.id, job.job.handler.as_str());
                        tracing::warn!(job = %id, handler, error, "the owner of its effect was asked and did not answer; it stays parked");
                    }
                }
                if in_vain >= IN_VAIN {
                    asked.ended_early = true;
                    self.outbox.inner().asked_to.ended(self.handler.as_ref(), page.behind);
                    return Ok(asked);
                }
            }
            if jobs.len() < PAGE as usize {
                self.outbox.inner().asked_to.ended(self.handler.as_ref(), None);
                return Ok(asked);
            }
        }
    }

    async fn act(&self, job: &DeadLetter, answer: Option<Answer>, asked: &mut Asked) -> Result<(), OperationError> {
        let Some(answer) = answer else {
            asked.open += 1;
            return Ok(());
        };
        match (self.settle(job.job.id, answer).await?, answer) {
            (Settled::Yes, Answer::TookEffect) => asked.took_effect += 1,
            (Settled::Yes, Answer::DidNot) => asked.did_not += 1,
            (Settled::AnotherIsLive, _) => asked.open += 1,
            // Somebody else has answered at this moment: then it was theirs.
            (Settled::NotParked, _) => {}
        }
        Ok(())
    }
}

/// What an answer came to.
enum Settled {
    Yes,
    /// It did not take effect, and stays parked beside a live job of its event and handler.
    AnotherIsLive,
    NotParked,
}

async fn question<O: EffectOwner>(owner: &O, job: &DeadLetter) -> Result<Option<Answer>, String> {
    match tokio::time::timeout(ANSWER_LIMIT, owner.ask(job)).await {
        Ok(answer) => answer.map_err(|error| outbox_core::error_chain::sanitise(&told(&*error))),
        Err(_) => Err(format!("no answer within {ANSWER_LIMIT:?}")),
    }
}
