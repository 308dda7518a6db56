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
    /// How many workers and publishers there are.
    pub nodes: Nodes,
    /// What happens, earliest first.
    pub faults: Vec<Fault>,
    /// Whether, and how, the database fails over.
    pub failover: Option<Failover>,
}

/// How many processes of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Workers.
    pub workers: u64,
    /// Publishers.
    pub publishers: u64,
}

impl Nodes {
    /// The names of all places; the processes that take them add a number of their own.
    #[must_use]
    pub fn places(self) -> Vec<String> {
        let workers = (1..=self.workers).map(|number| format!("worker-{number}"));
        workers.chain((1..=self.publishers).map(|number| format!("publisher-{number}"))).collect()
    }
}

/// How the database fails over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failover {
    /// To a replica that had everything that was answered.
    pub synchronous: bool,
    /// When.
    pub at: Duration,
}

/// A fault and its moment, counted from when the load begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Duration,
    /// What.
    pub kind: Kind,
}

/// A fault. `place` is whom it meets; `lasts` how long.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "what the fields are is said above")]
pub enum Kind {
    /// `SIGKILL`.
    Kill { place: String },
    /// `SIGSTOP`, and `SIGCONT` later.
    Freeze { place: String, lasts: Duration },
    /// `SIGTERM`; a new process takes its place.
    Terminate { place: String },
    /// Its network.
    Network { place: String, connections: Connections, what: Weather, lasts: Duration },
    /// The next time it passes a point of a statement.
    Point { place: String, point: At, then: Then },
    /// A statement of it is under way for longer than its lease, and arrives when others have taken over; the process stands
    /// still meanwhile.
    Late { place: String, point: At, lasts: Duration },
    /// The database server.
    Server(Stop),
    /// A session holds something.
    Session { holds: Holds, lasts: Duration },
    /// Every connection of its pool is taken.
    Starve { place: String, lasts: Duration },
}

/// Which connections of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// All of them.
    All,
    /// Those of this `application_name`.
    Of(&'static str),
}

/// What a network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Each message takes this much longer, both ways.
    Delay(Duration),
    /// Nothing passes.
    BlackHole,
    /// Open connections are forgotten.
    Forget,
    /// Open connections are reset.
    Cut,
    /// New connections are reset.
    Refuse,
}

/// A point of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Behind the statement, before its answer arrives; else before the server sees it.
    pub after: bool,
    /// The statement's name.
    pub statement: &'static str,
    /// Only in a transaction that has executed this one before.
    pub following: Option<&'static str>,
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The statement, or its answer, is lost with its connection.
    Cut,
    /// The process is killed.
    Kill,
}

/// How a server stops. It is started again at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// In good order.
    Fast,
    /// Without a checkpoint.
    Immediate,
    /// `SIGKILL` of its postmaster.
    Kill,
}

/// What a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Rows of live jobs.
    Rows,
    /// A lock on a table of the outbox, in this mode.
    Table(&'static str, &'static str),
    /// A snapshot.
    Snapshot,
}

/// Points in a worker's statements.
const WORKER_POINTS: [(&str, Option<&str>); 11] = [
    ("claim", None),
    ("settle", None),
    ("settle_tx", None),
    ("commit", Some("settle_tx")),
    ("renew", None),
    ("register", None),
    ("rescue_mark", None),
    ("rescue_return", None),
    ("commit", Some("rescue_return")),
    ("publish", None),
    ("publish_known", None),
];

/// Statements of a worker that change jobs, and are to change nothing when they come too late.
const LATE: [(&str, Option<&str>); 4] =
    [("settle", None), ("settle_tx", None), ("commit", Some("settle_tx")), ("claim", None)];

/// Points in a publisher's.
const PUBLISHER_POINTS: [(&str, Option<&str>); 8] = [
    ("publish", None),
    ("publish_known", None),
    ("publish_keyed", None),
    ("enqueue", None),
    ("commit", Some("publish")),
    ("commit", Some("publish_known")),
    ("commit", Some("publish_keyed")),
    ("commit", Some("enqueue")),
];

/// The connections of a worker's services.
pub(crate) const LANES: [&str; 5] = ["outbox claim", "outbox settle", "outbox renew", "outbox upkeep", "outbox listen"];

const TABLES: [(&str, &str); 5] = [
    ("job_live", "access exclusive"),
    ("job_live", "share row exclusive"),
    ("worker", "access exclusive"),
    ("event", "access exclusive"),
    ("catalogue", "access exclusive"),
];

impl Plan {
    /// The plan of this seed. Faults come `every` so often on average, the first one once the processes are at work; the last
    /// ones have ended before `length` is over.
    #[must_use]
    pub fn draw(seed: u64, length: Duration, every: Duration, nodes: Nodes, failover: Option<bool>) -> Self {
        let mut seeded = Seeded::new(seed, "plan");
        let failover = failover
            .map(|synchronous| Failover { synchronous, at: seeded.between(length.mul_f64(0.4), length.mul_f64(0.6)) });
        let (mut at, mut faults) = (length.min(Duration::from_secs(2)), Vec::new());
        while at < length.mul_f64(0.95) {
            faults.push(Fault { at, kind: kind(&mut seeded, nodes, length) });
            at += seeded.between(every.mul_f64(0.2), every.mul_f64(1.8));
        }
        Self { seed, length, nodes, faults, failover }
    }

    /// When this place's pool is taken, and for how long.
    #[must_use]
    pub fn starvations(&self, place: &str) -> Vec<(Duration, Duration)> {
        let of_place = |fault: &Fault| match &fault.kind {
            Kind::Starve { place: starved, lasts } if starved == place => Some((fault.at, *lasts)),
            _ => None,
        };
        self.faults.iter().filter_map(of_place).collect()
    }
}

fn kind(seeded: &mut Seeded, nodes: Nodes, length: Duration) -> Kind {
    let worker = format!("worker-{}", 1 + seeded.below(nodes.workers));
    let place = seeded.pick(&nodes.places()).clone();
    // A stop of the server is the dearest fault, for everybody waits; in a short run one in a hundred is none.
    match seeded.below(100) {
        0..14 => Kind::Kill { place },
        14..25 => Kind::Freeze { place, lasts: freeze(seeded) },
        25..33 => Kind::Terminate { place },
        33..57 => network(seeded, place),
        57..72 => point(seeded, nodes),
        72..80 => late(seeded, worker),
        80..86 => Kind::Server(*seeded.pick(&[Stop::Fast, Stop::Immediate, Stop::Kill])),
        86..94 => session(seeded, length),
        _ => Kind::Starve { place: worker, lasts: seeded.between(millis(500), millis(4_000)) },
    }
}

/// Shorter than the lease as often as longer than it.
fn freeze(seeded: &mut Seeded) -> Duration {
    if seeded.percent(50) {
        seeded.between(millis(200), millis(1_500))
    } else {
        seeded.between(millis(2_500), millis(6_000))
    }
}

fn network(seeded: &mut Seeded, place: String) -> Kind {
    let lane = place.starts_with("worker") && seeded.percent(50);
    let connections = if lane { Connections::Of(seeded.pick::<&str>(&LANES)) } else { Connections::All };
    let what = match seeded.below(5) {
        0 => Weather::Delay(seeded.between(millis(20), millis(400))),
        1 => Weather::BlackHole,
        2 => Weather::Forget,
        3 => Weather::Cut,
        _ => Weather::Refuse,
    };
    Kind::Network { place, connections, what, lasts: seeded.between(millis(300), millis(5_000)) }
}

fn point(seeded: &mut Seeded, nodes: Nodes) -> Kind {
    let publisher = seeded.percent(25);
    let (role, of_role) = if publisher { ("publisher", nodes.publishers) } else { ("worker", nodes.workers) };
    let points = if publisher { &PUBLISHER_POINTS[..] } else { &WORKER_POINTS[..] };
    let (statement, following) = *seeded.pick(points);
    let point = At { after: seeded.percent(50), statement, following };
    let then = if seeded.percent(50) { Then::Cut } else { Then::Kill };
    Kind::Point { place: format!("{role}-{}", 1 + seeded.below(of_role)), point, then }
}

fn late(seeded: &mut Seeded, place: String) -> Kind {
    let (statement, following) = *seeded.pick(&LATE);
    let point = At { after: false, statement, following };
    Kind::Late { place, point, lasts: seeded.between(millis(2_800), millis(5_000)) }
}

fn session(seeded: &mut Seeded, length: Duration) -> Kind {
    match seeded.below(4) {
        0 => Kind::Session { holds: Holds::Rows, lasts: seeded.between(millis(500), millis(5_000)) },
        1 | 2 => {
            let (table, mode) = *seeded.pick(&TABLES);
            Kind::Session { holds: Holds::Table(table, mode), lasts: seeded.between(millis(300), millis(3_000)) }
        }
        _ => Kind::Session { holds: Holds::Snapshot, lasts: seeded.between(length.mul_f64(0.05), length.mul_f64(0.1)) },
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Kind {
    /// One word or two, by which faults are counted.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Kill { .. } => "kill".to_owned(),
            Self::Freeze { .. } => "freeze".to_owned(),
            Self::Terminate { .. } => "terminate".to_owned(),
            Self::Network { what, .. } => what.to_string().split(' ').next().unwrap_or_default().to_owned(),
            Self::Point { then: Then::Cut, .. } => "cut at a point".to_owned(),
            Self::Point { then: Then::Kill, .. } => "kill at a point".to_owned(),
            Self::Late { .. } => "late statement".to_owned(),
            Self::Server(stop) => format!("server {stop}"),
            Self::Session { holds: Holds::Rows, .. } => "locked rows".to_owned(),
            Self::Session { holds: Holds::Table(..), .. } => "locked table".to_owned(),
            Self::Session { holds: Holds::Snapshot, .. } => "long snapshot".to_owned(),
            Self::Starve { .. } => "full pool".to_owned(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { place } => write!(f, "kill {place}"),
            Self::Freeze { place, lasts } => write!(f, "freeze {place} for {lasts:.1?}"),
            Self::Terminate { place } => write!(f, "terminate {place}"),
            Self::Network { place, connections, what: what @ (Weather::Cut | Weather::Forget), .. } => {
                write!(f, "{what} {connections} of {place}")
            }
            Self::Network { place, connections, what, lasts } => {
                write!(f, "{what}: {connections} of {place} for {lasts:.1?}")
            }
            Self::Point { place, point, then: Then::Cut } => write!(f, "cut {place} {point}"),
            Self::Point { place, point, then: Then::Kill } => write!(f, "kill {place} {point}"),
            Self::Late { place, point, lasts } => write!(f, "hold {place} {point} for {lasts:.1?}, and freeze it"),
            Self::Server(stop) => write!(f, "server {stop}"),
            Self::Session { holds, lasts } => write!(f, "a session holds {holds} for {lasts:.1?}"),
            Self::Starve { place, lasts } => write!(f, "the pool of {place} is full for {lasts:.1?}"),
        }
    }
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all connections"),
            Self::Of(application) => write!(f, "`{application}`"),
        }
    }
}

impl fmt::Display for Weather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(delay) => write!(f, "delay {delay:?}"),
            Self::BlackHole => f.write_str("silence"),
            Self::Forget => f.write_str("forget"),
            Self::Cut => f.write_str("cut"),
            Self::Refuse => f.write_str("refuse"),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.after { "after" } else { "before" };
        write!(f, "{side} `{}`", self.statement)?;
        self.following.map_or(Ok(()), |following| write!(f, " of `{following}`"))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "restart",
            Self::Immediate => "immediate",
            Self::Kill => "kill",
        })
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => f.write_str("rows of jobs"),
            Self::Table(table, mode) => write!(f, "table {table} in {mode} mode"),
            Self::Snapshot => f.write_str("a snapshot"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {:.0?}, {} faults", self.seed, self.length, self.faults.len())?;
        if let Some(failover) = self.failover {
            let how = if failover.synchronous { "a synchronous" } else { "an asynchronous" };
            writeln!(f, "{:>8.2} s  failover to {how} replica", failover.at.as_secs_f64())?;
        }
        self.faults.iter().try_for_each(|fault| writeln!(f, "{:>8.2} s  {}", fault.at.as_secs_f64(), fault.kind))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const NODES: Nodes = Nodes { workers: 3, publishers: 2 };

    fn drawn(seed: u64) -> Plan {
        Plan::draw(seed, Duration::from_mins(10), millis(2_000), NODES, Some(true))
    }

    #[test]
    fn the_same_seed_is_the_same_plan() {
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1).faults, drawn(2).faults);
    }

    /// Ten minutes hold more than two hundred faults of every kind, in order, and each of them ends within the run or shortly
    /// behind it.
    #[test]
    fn ten_minutes_hold_faults_of_every_kind() {
        for seed in 0..20 {
            let plan = drawn(seed);
            assert!(plan.faults.len() >= 240, "{}", plan.faults.len());
            assert!(plan.faults.is_sorted_by_key(|fault| fault.at));
            assert!(plan.faults.iter().all(|fault| fault.at < plan.length));
            let kinds: BTreeSet<_> = plan.faults.iter().map(|fault| fault.kind.name()).collect();
            assert!(kinds.len() >= 15, "{kinds:?}");
        }
    }

    /// A process learns of its starvations before it starts, so they are in the plan by its place.
    #[test]
    fn a_place_knows_when_it_starves() {
        let plan = drawn(3);
        let all: usize = NODES.places().iter().map(|place| plan.starvations(place).len()).sum();
        let planned = plan.faults.iter().filter(|fault| fault.kind.name() == "full pool").count();
        assert_eq!(all, planned);
        assert!(planned > 0);
    }
}
