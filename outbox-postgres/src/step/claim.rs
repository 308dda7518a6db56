//! claim: due jobs become running, leased to this worker, and come with their messages.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use outbox_core::transition::{Counts, Risk, risk};
use outbox_core::{Envelope, EventId, JobId, Metadata, Payload, Subject};
use sqlx::postgres::PgRow;
use sqlx::{Decode, PgConnection, Postgres, Row as _, Type};
use uuid::Uuid;

use super::Statements;
use crate::hashed::HashMap;

/// What one claim asks for. The arrays are of equal length and hold one range a place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) job_types: Vec<&'static str>,
    pub(crate) versions: Vec<i32>,
    pub(crate) handlers: Vec<i32>,
    pub(crate) limits: Vec<i32>,
    pub(crate) free: Vec<i32>,
    /// The handler's module, and that module's free slots.
    pub(crate) modules: Vec<i32>,
    pub(crate) module_free: Vec<i32>,
    /// Which of the process's ranges each is.
    pub(crate) ranges: Vec<usize>,
    /// Where each begins, four priorities a range, in seconds of the server's clock; empty: at the head.
    pub(crate) floors: Vec<f64>,
    pub(crate) free_in_all: i32,
    pub(crate) crashed_too: bool,
    pub(crate) crash_limit: u32,
    pub(crate) most: i32,
    /// Handlers that take the transaction, by each of their names, and under which name their marks stand.
    pub(crate) marked: Vec<&'static str>,
    pub(crate) mark_names: Vec<&'static str>,
    /// Handlers that park what is unknown, by each of their names.
    pub(crate) parking: Vec<&'static str>,
}

impl Wanted {
    /// The same, for fewer jobs.
    pub(crate) fn at_most(&self, most: i32) -> Self {
        let limits = self.limits.iter().map(|limit| (*limit).min(most)).collect();
        Self { most: self.most.min(most), limits, ..self.clone() }
    }

    /// The ranges of which these jobs are all that the claim found behind their floors; none where it began at the head.
    pub(crate) fn drained(&self, jobs: &[Claimed]) -> Vec<usize> {
        // One that passed over what only a free slot can take does not know whether there was any.
        let all_kinds = self.crashed_too && self.free.iter().all(|free| *free > 0);
        if !all_kinds || self.floors.is_empty() || jobs.len() >= usize::try_from(self.most).unwrap_or(0) {
            return Vec::new();
        }
        let mut got: HashMap<&str, i32> = HashMap::default();
        for job in jobs {
            *got.entry(job.job_type).or_default() += 1;
        }
        let all = |place: &usize| got.get(self.job_types[*place]).is_none_or(|got| *got < self.limits[*place]);
        let drained = (0..self.ranges.len()).filter(all);
        drained.map(|place| self.ranges[place]).collect()
    }
}

/// A job that is ours until the lease ends.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub(crate) job_id: JobId,
    pub(crate) claim_id: Uuid,
    pub(crate) event_id: Option<EventId>,
    /// One of the names that were asked for.
    pub(crate) job_type: &'static str,
    pub(crate) counts: Counts,
    /// What the death of this process would cost it.
    pub(crate) risk: Risk,
    /// Shared with the other jobs of its event that the same claim brought.
    pub(crate) envelope: Arc<Envelope>,
    /// The inbox holds the mark of its effect.
    pub(crate) done_before: bool,
    /// Its event is no longer stored, so there is no message.
    pub(crate) bereft: bool,
    /// How long it had been due when it was claimed, and when that was asked for: a moment before the server looked at its clock, so that
    /// nothing is begun behind its time for the length of an answer's way.
    pub(crate) late_by_then: Duration,
    pub(crate) asked_at: Instant,
    /// When it was here: its event had committed by then.
    pub(crate) came_at: Instant,
    /// How long it may still be begun from then on; `None`: for ever.
    pub(crate) expires_in: Option<Duration>,
}

impl Claimed {
    /// What it is settled by.
    pub(crate) fn key(&self) -> (JobId, Uuid) {
        (self.job_id, self.claim_id)
    }

    /// How long behind its time it is by `now`.
    pub(crate) fn late(&self, now: Instant) -> Duration {
        self.late_by_then + now.saturating_duration_since(self.asked_at)
    }

    /// Whether it is too old by now to be begun.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires_in.is_some_and(|left| left <= self.asked_at.elapsed())
    }

    /// The key of its inbox mark and of its idempotency key.
    pub(crate) fn effect_id(&self) -> EventId {
        self.event_id.unwrap_or_else(|| EventId::from_ulid(self.job_id.as_ulid()))
    }
}

/// What the server answered, not read yet: that takes the client a third of the time that the claim took the server, and meanwhile the
/// connection can have the next claim.
pub(crate) struct Answered {
    rows: Vec<PgRow>,
    claim_id: Uuid,
    asked_at: Instant,
    came_at: Instant,
}

impl Answered {
    pub(crate) fn claim_id(&self) -> Uuid {
        self.claim_id
    }

    /// How many jobs are held by it.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How long the answer took.
    pub(crate) fn took(&self) -> Duration {
        self.came_at - self.asked_at
    }

    /// The jobs, in the order in which they are to begin.
    pub(crate) fn read(&self, wanted: &Wanted) -> Result<Vec<Claimed>, sqlx::Error> {
        let mut messages = HashMap::default();
        for row in &self.rows {
            messages.extend(message(&Columns { row, are_looked_at: messages.is_empty() })?);
        }
        let times = (self.asked_at, self.came_at);
        let mut jobs = Vec::with_capacity(self.rows.len());
        for row in in_order(&self.rows)? {
            jobs.extend(read(&row, self.claim_id, wanted, &messages, times)?);
        }
        Ok(jobs)
    }
}

/// Claims under `claim_id`, which the caller made and remembers: if the answer is lost, it tells which jobs may be held.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    statements: &Statements,
    worker: Uuid,
    claim_id: Uuid,
    wanted: &Wanted,
) -> Result<Answered, sqlx::Error> {
    let asked_at = Instant::now();
    let rows = sqlx::query(statements.claim.text())
        .bind(worker)
        .bind(claim_id)
        .bind(&wanted.job_types)
        .bind(&wanted.versions)
        .bind(&wanted.handlers)
        .bind(&wanted.limits)
        .bind(&wanted.free)
        .bind(wanted.free_in_all)
        .bind(wanted.crashed_too)
        .bind(wanted.most)
        .bind(&wanted.marked)
        .bind(&wanted.mark_names)
        .bind(&wanted.modules)
        .bind(&wanted.module_free)
        .bind(i32::try_from(wanted.crash_limit).unwrap_or(i32::MAX))
        .bind(&wanted.floors)
        .fetch_all(connection)
        .await?;
    Ok(Answered { rows, claim_id, asked_at, came_at: Instant::now() })
}

/// By priority, then those that have been due for longest, then by id.
fn in_order(rows: &[PgRow]) -> Result<Vec<Columns<'_>>, sqlx::Error> {
    let columns = rows.iter().enumerate().map(|(nth, row)| Columns { row, are_looked_at: nth == 0 });
    let keyed = columns.map(|row| {
        // What is never negative is ordered as its bits are.
        let late: f64 = row.get(15)?;
        Ok(((row.get::<i16>(17)?, Reverse(late.to_bits()), row.get::<Uuid>(0)?), row))
    });
    let mut keyed = keyed.collect::<Result<Vec<_>, sqlx::Error>>()?;
    keyed.sort_unstable_by_key(|(key, _)| *key);
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

/// A row of the answer. The types of its columns are those of all rows, so they are looked at in one of them: to look at each costs more
/// than to read it.
struct Columns<'r> {
    row: &'r PgRow,
    are_looked_at: bool,
}

impl<'r> Columns<'r> {
    fn get<T: Decode<'r, Postgres> + Type<Postgres>>(&self, place: usize) -> Result<T, sqlx::Error> {
        if self.are_looked_at { self.row.try_get(place) } else { self.row.try_get_unchecked(place) }
    }
}

/// A message, and whether it is still stored, by the id of its event or job. `None` for a job whose message comes with another.
///
/// The payload stays text here: a row that does not decode is that row's matter, when it runs (O7, B3).
fn message(row: &Columns<'_>) -> Result<Option<(Uuid, Message)>, sqlx::Error> {
    if !row.get::<bool>(6)? {
        return Ok(None);
    }
    let id = match row.get::<Option<Uuid>>(1)? {
        Some(event) => event,
        None => row.get(0)?,
    };
    let metadata: &str = row.get(12)?;
    let payload: Option<&str> = row.get(13)?;
    let envelope = Envelope {
        id: EventId::from(id),
        name: row.get(7)?,
        version: unsigned(row.get(8)?),
        occurred_at: row.get::<DateTime<Utc>>(9)?,
        subject: Subject { kind: row.get(10)?, id: row.get(11)? },
        // Context that cannot be read must not keep the work from being done.
        metadata: if metadata == "{}" { Metadata::default() } else { Metadata::from_json(metadata) },
        payload: Payload::from_json(payload.unwrap_or("null")),
    };
    Ok(Some((id, Message { envelope: Arc::new(envelope), bereft: payload.is_none() })))
}

struct Message {
    envelope: Arc<Envelope>,
    bereft: bool,
}

/// `None` for a row that was not asked for, which the statement does not answer.
fn read(
    row: &Columns<'_>,
    claim_id: Uuid,
    wanted: &Wanted,
    messages: &HashMap<Uuid, Message>,
    (asked_at, came_at): (Instant, Instant),
) -> Result<Option<Claimed>, sqlx::Error> {
    let job_id: Uuid = row.get(0)?;
    let event_id: Option<Uuid> = row.get(1)?;
    let name: &str = row.get(2)?;
    let Some(job_type) = wanted.job_types.iter().copied().find(|one| *one == name) else { return Ok(None) };
    let Some(message) = messages.get(&event_id.unwrap_or(job_id)) else { return Ok(None) };
    let counts =
        Counts { attempts: unsigned(row.get(3)?), max_attempts: unsigned(row.get(4)?), crashes: unsigned(row.get(5)?) };
    Ok(Some(Claimed {
        job_id: JobId::from(job_id),
        claim_id,
        event_id: event_id.map(EventId::from),
        job_type,
        counts,
        risk: risk_of(counts, wanted, job_type),
        envelope: Arc::clone(&message.envelope),
        done_before: row.get(14)?,
        bereft: message.bereft,
        late_by_then: Duration::try_from_secs_f64(row.get(15)?).unwrap_or_default(),
        asked_at,
        came_at,
        expires_in: row.get::<Option<f64>>(16)?.map(|left| Duration::try_from_secs_f64(left).unwrap_or_default()),
    }))
}

/// One whose handler parks what is unknown does not wait in memory behind others, where its worker's end would leave it open although
/// nobody has called it.
fn risk_of(counts: Counts, wanted: &Wanted, job_type: &'static str) -> Risk {
    match risk(counts.attempts.saturating_sub(1), counts.max_attempts, counts.crashes, wanted.crash_limit) {
        Risk::None if wanted.parking.contains(&job_type) => Risk::Exposed,
        risk => risk,
    }
}

fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}
