//! What happens to connections as a whole: delay, silence, refusal, cuts.

use std::collections::HashMap;
use std::time::Duration;

/// Which way a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the program to PostgreSQL.
    ToServer,
    /// From PostgreSQL to the program.
    ToClient,
}

/// What some connections meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weather {
    pub(super) to_server: Duration,
    pub(super) to_client: Duration,
    /// Bytes a second of each connection to the client; zero is no bound.
    pub(super) rate: u64,
    /// Nothing passes, and nobody is told.
    pub(super) silent: bool,
    /// New connections are reset.
    pub(super) refuses: bool,
    /// How often open connections have been cut.
    pub(super) cuts: u64,
    /// How often open connections have been forgotten.
    pub(super) forgotten: u64,
}

impl Weather {
    /// How long a message is on its way.
    pub(super) fn delay(self, way: Way) -> Duration {
        match way {
            Way::ToServer => self.to_server,
            Way::ToClient => self.to_client,
        }
    }

    /// How much longer `bytes` take by their number.
    pub(super) fn transfer(self, way: Way, bytes: usize) -> Duration {
        match way {
            Way::ToClient if self.rate > 0 => {
                Duration::from_micros(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000_000) / self.rate)
            }
            _ => Duration::ZERO,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            to_server: self.to_server.max(other.to_server),
            to_client: self.to_client.max(other.to_client),
            rate: if self.rate == 0 || other.rate == 0 { self.rate.max(other.rate) } else { self.rate.min(other.rate) },
            silent: self.silent || other.silent,
            refuses: self.refuses || other.refuses,
            cuts: self.cuts + other.cuts,
            forgotten: self.forgotten + other.forgotten,
        }
    }
}

/// The weather of all connections and of those of single applications.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    all: Weather,
    by_application: HashMap<String, Weather>,
}

impl Forecast {
    /// What a connection of this application meets; `None` is one that has not said whose it is.
    pub(super) fn of(&self, application: Option<&str>) -> Weather {
        let own = application.and_then(|name| self.by_application.get(name)).copied();
        self.all.and(own.unwrap_or_default())
    }

    /// The weather of this application, or of all, to be changed.
    pub(super) fn entry(&mut self, application: Option<&str>) -> &mut Weather {
        match application {
            None => &mut self.all,
            Some(name) => self.by_application.entry(name.to_owned()).or_default(),
        }
    }
}
