//! What can be seen and alerted on, of each destination by itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::circuit::{Circuit, CircuitState};
use crate::transport::{Confirmed, LinkStatus, NotConfirmed};

/// How one destination does in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayStatus {
    /// What its transport calls it.
    pub destination: String,
    /// Whether messages go.
    pub circuit: CircuitState,
    /// For how long none goes from now on.
    pub pauses_for: Option<Duration>,
    /// How often in a row it was left alone, without a full window of answers between.
    pub pauses_in_a_row: u32,
    /// How many messages may be under way now: few behind an outage.
    pub window: u32,
    /// How many are.
    pub under_way: u32,
    /// Confirmed, since the process began.
    pub confirmed: u64,
    /// Of these, how many the broker had already.
    pub duplicates: u64,
    /// Refused by the broker, or with no queue or stream that takes them.
    pub refused: u64,
    /// Not answered, or not sent, because the broker could not be reached.
    pub unreachable: u64,
    /// How many of any kind did not go, one after another, since the last one that was confirmed.
    pub failures_in_a_row: u64,
    /// The last error of a message.
    pub last_error: Option<String>,
    /// The connection, and for how long it has been away.
    pub link: LinkStatus,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    confirmed: u64,
    duplicates: u64,
    refused: u64,
    unreachable: u64,
    failures_in_a_row: u64,
    pub(crate) last_error: Option<String>,
    /// The last pause that was told of, by its number.
    told: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, answer: &Result<Confirmed, NotConfirmed>) {
        match answer {
            Ok(confirmed) => {
                self.confirmed += 1;
                self.duplicates += u64::from(confirmed.is_duplicate);
                self.failures_in_a_row = 0;
                return;
            }
            Err(NotConfirmed::NoAnswer(_) | NotConfirmed::Unreachable(_)) => self.unreachable += 1,
            Err(_) => self.refused += 1,
        }
        self.failures_in_a_row += 1;
        self.last_error = answer.as_ref().err().map(ToString::to_string);
    }

    /// Whether this pause is to be told of: once each, however many messages met it.
    pub(crate) fn told_of(&mut self, pause: Option<u64>, why: &str) -> bool {
        let is_first = pause.is_some_and(|pause| pause > self.told);
        self.told = self.told.max(pause.unwrap_or_default());
        self.last_error = Some(why.to_owned());
        is_first
    }
}

impl RelayStatus {
    pub(crate) fn new(destination: &str, circuit: &Circuit, counts: &Counts, link: LinkStatus) -> Self {
        Self {
            destination: destination.to_owned(),
            circuit: circuit.state(),
            pauses_for: circuit.pauses_for(Instant::now()),
            pauses_in_a_row: circuit.failures(),
            window: circuit.window(),
            under_way: circuit.under_way(),
            confirmed: counts.confirmed,
            duplicates: counts.duplicates,
            refused: counts.refused,
            unreachable: counts.unreachable,
            failures_in_a_row: counts.failures_in_a_row,
            last_error: counts.last_error.clone(),
            link,
        }
    }
}
