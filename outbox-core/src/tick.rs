//! What the job of a schedule carries: the time that it stands for.

use chrono::{DateTime, NaiveDateTime, TimeZone as _, Utc};
use serde::{Deserialize, Serialize};
use ulid::Ulid;
use uuid::Uuid;

use crate::delivery::Delivery;
use crate::extract::FromDelivery;
use crate::failure::{BoxError, Failure};
use crate::id::JobId;
use crate::timetable;

/// The version of the payload of a schedule's jobs.
pub const VERSION: u32 = 1;

/// For which time a scheduled function runs. The same at every attempt, however late it is.
///
/// ```
/// # use outbox_core::Tick;
/// let tick = Tick::new("2026-07-01T01:00:00Z".parse().unwrap(), "Europe/Paris");
/// assert_eq!(tick.local().to_string(), "2026-07-01 03:00:00");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tick {
    /// The moment that the schedule names; for a run by hand, when it was asked for.
    pub at: DateTime<Utc>,
    /// The zone whose clocks the schedule follows; `UTC` for one that comes round `every` so often.
    pub zone: String,
    /// Whether somebody asked for this run, apart from the schedule.
    #[serde(default)]
    pub by_hand: bool,
}

impl Tick {
    /// A tick of a schedule.
    #[must_use]
    pub fn new(at: DateTime<Utc>, zone: impl Into<String>) -> Self {
        Self { at, zone: zone.into(), by_hand: false }
    }

    /// What the clocks of its zone show at that moment: the day that a nightly report is about is found here, and not on the clock of the
    /// machine that happens to run it.
    #[must_use]
    pub fn local(&self) -> NaiveDateTime {
        match timetable::zone(&self.zone) {
            Ok(zone) => zone.from_utc_datetime(&self.at.naive_utc()).naive_local(),
            Err(_) => self.at.naive_utc(),
        }
    }
}

impl<'a> FromDelivery<'a> for Tick {
    const PER_EVENT: bool = true;
    const OF_A_SCHEDULE: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        delivery.item().envelope.payload.decode().map_err(|error| Failure::quarantine(error).into())
    }
}

/// The id of a tick's job: always the same for one schedule and tick, so that its idempotency key is too. `seed` is drawn once for each
/// schedule in each schema: two installations with the same schedule have different keys.
#[must_use]
pub fn job_id(seed: Uuid, at: DateTime<Utc>) -> JobId {
    JobId::from_ulid(Ulid::from_parts(u64::try_from(at.timestamp_millis()).unwrap_or(0), seed.as_u128()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_one_id_and_no_other_has_it() {
        let at: DateTime<Utc> = "2026-07-01T01:00:00Z".parse().expect("a time");
        let (one, other) = (Uuid::from_u128(1 << 120 | 7), Uuid::from_u128(1 << 120 | 8));
        assert_eq!(job_id(one, at), job_id(one, at));
        assert_ne!(job_id(one, at), job_id(other, at));
        assert_ne!(job_id(one, at), job_id(one, at + chrono::TimeDelta::seconds(1)));
    }

    #[test]
    fn a_stored_tick_is_read_as_the_database_writes_times() {
        let tick: Tick = serde_json::from_str(r#"{"at":"2026-07-01T03:00:00+02:00","zone":"Europe/Paris","later":1}"#)
            .expect("a tick");
        assert_eq!(tick, Tick::new("2026-07-01T01:00:00Z".parse().expect("a time"), "Europe/Paris"));
    }
}
