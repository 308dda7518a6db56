//! Which fault happens when, and to whom: drawn from a seed before anything runs.

use std::fmt;
use std::time::Duration;

use crate::seeded::Seeded;

/// Everything that a run is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// How long faults and load go on; healing and checking come behind.
    pub length: Duration,
    /// What happens, earliest first.
    pub faults: Vec<Fault>,
}

/// A fault and its moment, counted from when the load begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Duration,
    /// What.
    pub kind: Kind,
}

/// The places of the processes.
pub const PLACES: [&str; 4] = ["sender-1", "sender-2", "receiver-1", "receiver-2"];

/// A fault. `lasts` is for how long.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "what the fields are is said above")]
pub enum Kind {
    /// The broker ends in good order, and is started again.
    BrokerStops { lasts: Duration },
    /// `SIGKILL` of the broker; it is started again.
    BrokerDies { lasts: Duration },
    /// `SIGSTOP` of the broker, and `SIGCONT` later.
    BrokerFreezes { lasts: Duration },
    /// The network between a service and the broker.
    Network { service: Service, what: Weather, lasts: Duration },
    /// `SIGKILL` of a process; another one takes its place.
    Kill { place: &'static str },
    /// `SIGSTOP` of a process, and `SIGCONT` later.
    Freeze { place: &'static str, lasts: Duration },
    /// `SIGTERM` of a process; another one takes its place.
    Terminate { place: &'static str },
    /// The network between a process and its database: nothing passes, and then it is cut.
    Database { place: &'static str, lasts: Duration },
    /// `SIGKILL` of the database server, which is started again at once.
    ServerDies,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The one that publishes.
    Sender,
    /// The one that ingests.
    Receiver,
}

/// What a network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Connections end.
    Cut,
    /// Nothing passes, and arrives later.
    Silence,
    /// What the broker answers is lost, and then the connections.
    LostAnswers,
}

impl Plan {
    /// The plan of this seed. Faults come `every` so often on average, the first one once the processes are at work; none begins in the
    /// last tenth.
    #[must_use]
    pub fn draw(seed: u64, length: Duration, every: Duration) -> Self {
        let mut seeded = Seeded::new(seed, "broker");
        let (mut at, mut faults) = (length.min(Duration::from_secs(2)), Vec::new());
        while at < length.mul_f64(0.9) {
            faults.push(Fault { at, kind: kind(&mut seeded) });
            at += seeded.between(every.mul_f64(0.3), every.mul_f64(1.7));
        }
        Self { seed, length, faults }
    }
}

fn kind(seeded: &mut Seeded) -> Kind {
    let place = *seeded.pick(&PLACES);
    match seeded.below(100) {
        0..12 => Kind::BrokerDies { lasts: away(seeded) },
        12..20 => Kind::BrokerStops { lasts: away(seeded) },
        20..35 => Kind::BrokerFreezes { lasts: away(seeded) },
        35..65 => network(seeded),
        65..77 => Kind::Kill { place },
        77..85 => Kind::Freeze { place, lasts: away(seeded) },
        85..89 => Kind::Terminate { place },
        89..96 => Kind::Database { place, lasts: away(seeded) },
        _ => Kind::ServerDies,
    }
}

fn network(seeded: &mut Seeded) -> Kind {
    let service = *seeded.pick(&[Service::Sender, Service::Receiver]);
    let what = *seeded.pick(&[Weather::Cut, Weather::Silence, Weather::LostAnswers]);
    Kind::Network { service, what, lasts: away(seeded) }
}

/// Shorter than what anybody notices as often as longer than it.
fn away(seeded: &mut Seeded) -> Duration {
    if seeded.percent(50) {
        seeded.between(Duration::from_millis(200), Duration::from_millis(1_500))
    } else {
        seeded.between(Duration::from_secs(3), Duration::from_secs(8))
    }
}

impl Kind {
    /// By which faults are counted.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BrokerStops { .. } => "broker stopped",
            Self::BrokerDies { .. } => "broker killed",
            Self::BrokerFreezes { .. } => "broker frozen",
            Self::Network { what: Weather::Cut, .. } => "broker's network cut",
            Self::Network { what: Weather::Silence, .. } => "broker's network silent",
            Self::Network { what: Weather::LostAnswers, .. } => "broker's answers lost",
            Self::Kill { .. } => "process killed",
            Self::Freeze { .. } => "process frozen",
            Self::Terminate { .. } => "process terminated",
            Self::Database { .. } => "database's network silent",
            Self::ServerDies => "database server killed",
        }
    }

    /// Whether it is the broker's.
    #[must_use]
    pub fn is_of_broker(&self) -> bool {
        self.name().starts_with("broker")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::BrokerStops { lasts } | Self::BrokerDies { lasts } | Self::BrokerFreezes { lasts } => {
                write!(f, "{name} for {lasts:.1?}")
            }
            Self::Network { service, what: Weather::Cut, .. } => write!(f, "{name}: {service:?}"),
            Self::Network { service, lasts, .. } => write!(f, "{name}: {service:?} for {lasts:.1?}"),
            Self::Kill { place } | Self::Terminate { place } => write!(f, "{name}: {place}"),
            Self::Freeze { place, lasts } | Self::Database { place, lasts } => {
                write!(f, "{name}: {place} for {lasts:.1?}")
            }
            Self::ServerDies => f.write_str(name),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {:.0?}, {} faults", self.seed, self.length, self.faults.len())?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "{:>8.2} s  {}", fault.at.as_secs_f64(), fault.kind))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn drawn(seed: u64) -> Plan {
        Plan::draw(seed, Duration::from_mins(10), Duration::from_secs(4))
    }

    #[test]
    fn the_same_seed_is_the_same_plan() {
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    /// Ten minutes hold faults of every kind, in order.
    #[test]
    fn ten_minutes_hold_faults_of_every_kind() {
        for seed in 0..20 {
            let plan = drawn(seed);
            assert!(plan.faults.is_sorted_by_key(|fault| fault.at));
            assert!(plan.faults.len() >= 100, "{}", plan.faults.len());
            let kinds: BTreeSet<_> = plan.faults.iter().map(|fault| fault.kind.name()).collect();
            assert!(kinds.len() >= 10, "{kinds:?}");
        }
    }
}
