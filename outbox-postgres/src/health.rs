//! How a process's worker is: what liveness and readiness probes ask, with the reasons in words.

use std::fmt;
use std::time::Duration;

use outbox_core::lease::Lease;
use outbox_core::{Guard, SubscriberDescriptor};

use crate::vitals::Vitals;

/// The worker's loop comes round once a second; one that has not for this long is stuck, whatever the database does.
const TURN_LIMIT: Duration = Duration::from_secs(10);
/// Services without which due jobs are not claimed, kept or settled, or those of dead workers not taken over. The others
/// (`listen`, `wake`) only make things quick, or (`schedule`) are told of by what is late.
const ESSENTIAL: [&str; 5] = ["register", "claim", "settle", "renew", "upkeep"];
/// How much longer than its handler's timeout an execution may take before it counts as blocked. The connection, begin, completion
/// and commit of a handler that takes the transaction have 5 s each.
const OVERDUE_BEHIND: Duration = Duration::from_secs(5);
const TRANSACTION_OVERDUE_BEHIND: Duration = Duration::from_secs(25);
/// A tick is taken within moments, by whichever process.
const LATE_AFTER: Duration = Duration::from_secs(30);

/// Where [`Outbox::run`](crate::Outbox::run) stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Stage {
    /// It was not called: this process only publishes so far.
    Idle,
    /// It registers at the database, or waits for it.
    Starting,
    /// It claims, runs and settles.
    Running,
    /// It was asked to end and lets executions finish.
    Stopping,
    /// It has ended.
    Ended,
}

impl Stage {
    pub(crate) fn of(number: u8) -> Self {
        let all = [Self::Idle, Self::Starting, Self::Running, Self::Stopping, Self::Ended];
        all.into_iter().find(|one| *one as u8 == number).unwrap_or(Self::Ended)
    }
}

/// Whether wakes of other processes are heard. Where they are not, the worker polls once a second at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Listening {
    /// Nobody listens: no worker runs, or it only polls.
    Off,
    /// A connection is being made, or has not been heard on yet.
    Connecting,
    /// The last notification that the worker sent to itself came back.
    Hears,
    /// The connection stands and its own notifications do not come back: most likely a transaction pooler is between.
    Deaf,
}

impl Listening {
    pub(crate) fn of(number: u8) -> Self {
        let all = [Self::Off, Self::Connecting, Self::Hears, Self::Deaf];
        all.into_iter().find(|one| *one as u8 == number).unwrap_or(Self::Off)
    }
}

/// A service of the worker that is not getting through, and tries again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// `register`, `claim`, `settle`, `renew`, `upkeep`, `schedule`, `listen`, `live listen` or `wake`.
    pub service: &'static str,
    /// For how long.
    pub lasting: Duration,
    /// How often it tried in that time.
    pub failures: u32,
    /// What it was told last.
    pub error: String,
}

/// Executions that are long past their handler's timeout: they block their thread, so that nobody can end them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overdue {
    /// The handler.
    pub handler: &'static str,
    /// How many executions of it.
    pub executions: u32,
    /// How many it may have at once.
    pub slots: u32,
    /// For how long the oldest one runs.
    pub longest: Duration,
}

/// A schedule of this process whose tick is due and was taken by nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Late {
    /// Its name.
    pub schedule: String,
    /// For how long it has been due.
    pub lasting: Duration,
}

/// Due jobs that no living worker runs: their handler was renamed without an alias or is not deployed, or the version of their payload is
/// known to no binary that runs. They wait, uncharged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Starving {
    /// Stored name of the handler.
    pub handler: String,
    /// Version of the payload; 0 where the handler takes any.
    pub version: u32,
    /// How many are due; counted up to 10,000.
    pub due: u64,
    /// For how long the oldest of them has been due.
    pub lasting: Duration,
}

/// How the worker of this process is, from memory: see [`Outbox::health`](crate::Outbox::health).
///
/// Printed, it is one line for people.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// Where `run` stands.
    pub stage: Stage,
    /// Since the worker's loop came round last; it does so once a second.
    pub turned: Option<Duration>,
    /// Since a claim was answered last. An idle worker claims once in a poll interval.
    pub claimed: Option<Duration>,
    /// How long the lease lasts yet, by this process's own reckoning, which ends before the database's.
    pub lease_left: Option<Duration>,
    /// Executions under way.
    pub running: u32,
    /// Most executions at once: what the process, its modules and its handlers allow, whichever is less.
    pub concurrency: u32,
    /// Whether wakes of other processes are heard.
    pub listening: Listening,
    /// How often the listener has lost a connection on which it had heard.
    pub listener_reconnects: u64,
    /// Services that do not get through, in the order of their names.
    pub troubles: Vec<Trouble>,
    /// Handlers of which executions are long past their timeout.
    pub overdue: Vec<Overdue>,
    /// Schedules whose tick has been due for more than half a minute. That leaves a worker ready: its other jobs are run.
    pub late: Vec<Late>,
    /// Jobs that have been due for more than half a minute and that no living worker runs, wherever it is. That leaves a worker ready: it
    /// can do nothing about it.
    pub starving: Vec<Starving>,
}

impl Health {
    pub(crate) fn of(vitals: &Vitals, lease: Lease, concurrency: u32) -> Self {
        let failing = vitals.all_failing().into_iter();
        Self {
            stage: vitals.stage(),
            turned: vitals.since_turned(),
            claimed: vitals.since_claimed(),
            lease_left: vitals.since_renewed().map(|since| lease.stop_after().saturating_sub(since)),
            running: vitals.running(),
            concurrency,
            listening: vitals.listening(),
            listener_reconnects: vitals.reconnects(),
            troubles: failing
                .map(|(service, known)| Trouble {
                    service,
                    lasting: known.since.elapsed(),
                    failures: known.failures,
                    error: known.error,
                })
                .collect(),
            overdue: vitals.overdue(),
            late: vitals.late(LATE_AFTER).into_iter().map(|(schedule, lasting)| Late { schedule, lasting }).collect(),
            starving: vitals.starving(),
        }
    }

    /// Whether to leave this process alone. `false` means that only starting it anew will help: its loop does not come round,
    /// every slot is held by a handler that blocks its thread, or `run` has ended.
    ///
    /// A database that is away is no reason: the worker connects again by itself.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.why_dead().is_none()
    }

    /// Whether due jobs are being claimed by this process: it runs, its lease is good, a claim was answered, every service that
    /// this takes gets through, and no handler has all of its slots blocked.
    ///
    /// A process that only publishes is never ready in this sense; ask where a worker runs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.why_not_ready().is_none()
    }

    /// Why it is not live.
    #[must_use]
    pub fn why_dead(&self) -> Option<String> {
        if self.stage == Stage::Ended {
            return Some("the worker has ended, and nothing begins it again".into());
        }
        // A worker that shuts down waits for its executions, for as long as its budget says.
        let stands = self.turned.filter(|turned| self.stage == Stage::Running && *turned > TURN_LIMIT);
        if let Some(turned) = stands {
            return Some(format!(
                "the worker's loop has not come round for {turned:.0?}: something blocks the runtime's threads"
            ));
        }
        let blocked: u32 = self.overdue.iter().map(|one| one.executions).sum();
        (blocked > 0 && blocked >= self.concurrency).then(|| {
            format!("all {} slots are held by handlers that block their thread: {}", self.concurrency, self.blocked())
        })
    }

    /// Why it is not ready.
    #[must_use]
    pub fn why_not_ready(&self) -> Option<String> {
        if let Some(dead) = self.why_dead() {
            return Some(dead);
        }
        match self.stage {
            Stage::Idle => return Some("no worker runs in this process".into()),
            Stage::Stopping => return Some("shutting down".into()),
            Stage::Starting | Stage::Running | Stage::Ended => {}
        }
        if let Some(trouble) = self.troubles.iter().find(|one| ESSENTIAL.contains(&one.service)) {
            return Some(trouble.to_string());
        }
        if self.stage == Stage::Starting {
            return Some("starting".into());
        }
        if self.claimed.is_none() {
            return Some("no claim was answered yet".into());
        }
        if self.lease_left.is_none_or(|left| left.is_zero()) {
            return Some("the lease is not renewed".into());
        }
        let all_blocked = self.overdue.iter().any(|one| one.executions >= one.slots);
        all_blocked.then(|| {
            format!("every slot of a handler is held by executions that block their thread: {}", self.blocked())
        })
    }

    fn blocked(&self) -> String {
        self.overdue.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why_dead(), self.why_not_ready()) {
            (Some(why), _) => write!(f, "not live: {why}"),
            (None, Some(why)) => write!(f, "not ready: {why}"),
            (None, None) => {
                write!(f, "ready: {} of {} executions under way", self.running, self.concurrency)?;
                if let Some(claimed) = self.claimed {
                    write!(f, ", claimed {claimed:.1?} ago")?;
                }
                if let Some(left) = self.lease_left {
                    write!(f, ", lease good for {left:.1?}")?;
                }
                match self.listening {
                    Listening::Off => write!(f, ", polling"),
                    Listening::Connecting => write!(f, ", connecting the listener"),
                    Listening::Hears => write!(f, ", listening"),
                    Listening::Deaf => write!(f, ", polling because notifications do not arrive"),
                }
            }
        }?;
        self.troubles
            .iter()
            .filter(|one| !ESSENTIAL.contains(&one.service))
            .try_for_each(|one| write!(f, "; {one}"))?;
        self.late.iter().try_for_each(|one| write!(f, "; {one}"))?;
        self.starving.iter().try_for_each(|one| write!(f, "; {one}"))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, lasting, failures, error } = self;
        let tries = if *failures == 1 { "try" } else { "tries" };
        write!(f, "{service} has not got through for {lasting:.1?} ({failures} {tries}): {error}")
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule `{}` has been due for {:.0?}", self.schedule, self.lasting)
    }
}

impl fmt::Display for Starving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handler, version, due, lasting } = self;
        let jobs = if *due == 1 { "job" } else { "jobs" };
        write!(f, "no living worker runs {due} due {jobs} of `{handler}`")?;
        if *version > 0 {
            write!(f, " in version {version}")?;
        }
        write!(f, ", the oldest for {lasting:.0?}")
    }
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} of `{}`, the oldest for {:.0?}", self.executions, self.slots, self.handler, self.longest)
    }
}

/// From when on an execution of `handler` counts as overdue.
pub(crate) fn overdue_after(handler: &SubscriberDescriptor) -> Duration {
    let behind = if handler.guard == Guard::Transaction { TRANSACTION_OVERDUE_BEHIND } else { OVERDUE_BEHIND };
    handler.settings.timeout.saturating_add(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Health {
        Health {
            stage: Stage::Running,
            turned: Some(Duration::from_millis(300)),
            claimed: Some(Duration::from_millis(200)),
            lease_left: Some(Duration::from_secs(8)),
            running: 3,
            concurrency: 16,
            listening: Listening::Hears,
            listener_reconnects: 0,
            troubles: Vec::new(),
            overdue: Vec::new(),
            late: Vec::new(),
            starving: Vec::new(),
        }
    }

    fn trouble(service: &'static str) -> Trouble {
        Trouble { service, lasting: Duration::from_millis(1500), failures: 4, error: "connection refused".into() }
    }

    #[test]
    fn a_worker_that_claims_is_ready() {
        let health = running();
        assert!(health.is_live() && health.is_ready());
        assert_eq!(
            health.to_string(),
            "ready: 3 of 16 executions under way, claimed 200.0ms ago, lease good for 8.0s, listening"
        );
    }

    /// Q10: a service that does not get through turns readiness red, and not liveness: starting anew would not help.
    #[test]
    fn a_service_that_fails_turns_readiness_red() {
        for service in ESSENTIAL {
            let health = Health { troubles: vec![trouble(service)], ..running() };
            assert!(health.is_live() && !health.is_ready());
            assert_eq!(
                health.to_string(),
                format!("not ready: {service} has not got through for 1.5s (4 tries): connection refused")
            );
        }
    }

    #[test]
    fn one_try_is_one_try() {
        let first = Trouble { failures: 1, ..trouble("claim") };
        assert_eq!(first.to_string(), "claim has not got through for 1.5s (1 try): connection refused");
    }

    #[test]
    fn what_only_makes_things_quick_leaves_it_ready() {
        let health = Health { troubles: vec![trouble("listen")], listening: Listening::Connecting, ..running() };
        assert!(health.is_ready());
        assert!(
            health.to_string().ends_with(
                "connecting the listener; listen has not got through for 1.5s (4 tries): connection refused"
            )
        );
    }

    #[test]
    fn a_late_schedule_is_told_and_leaves_it_ready() {
        let late = Late { schedule: "inventory.scan".into(), lasting: Duration::from_secs(95) };
        let health = Health { late: vec![late], ..running() };
        assert!(health.is_ready());
        assert!(
            health.to_string().ends_with("listening; the schedule `inventory.scan` has been due for 95s"),
            "{health}"
        );
    }

    #[test]
    fn what_starves_is_told_and_leaves_it_ready() {
        let starving =
            |version, due| Starving { handler: "a.b".into(), version, due, lasting: Duration::from_secs(95) };
        let health = Health { starving: vec![starving(2, 7), starving(0, 1)], ..running() };
        assert!(health.is_ready());
        let said = "; no living worker runs 7 due jobs of `a.b` in version 2, the oldest for 95s\
                    ; no living worker runs 1 due job of `a.b`, the oldest for 95s";
        assert!(health.to_string().ends_with(said), "{health}");
    }

    #[test]
    fn a_loop_that_stands_still_is_not_live() {
        let health = Health { turned: Some(Duration::from_secs(11)), ..running() };
        assert!(!health.is_live() && !health.is_ready());
        assert!(health.to_string().starts_with("not live: the worker's loop has not come round for 11s"));
    }

    #[test]
    fn blocked_slots_of_one_handler_are_not_ready_and_all_slots_are_not_live() {
        let overdue =
            |executions| vec![Overdue { handler: "a.b", executions, slots: 4, longest: Duration::from_secs(99) }];
        assert!(Health { overdue: overdue(3), ..running() }.is_ready());
        let health = Health { overdue: overdue(4), ..running() };
        assert!(health.is_live() && !health.is_ready());
        let health = Health { overdue: overdue(4), concurrency: 4, ..running() };
        assert_eq!(
            health.to_string(),
            "not live: all 4 slots are held by handlers that block their thread: 4 of 4 of `a.b`, the oldest for 99s"
        );
    }

    #[test]
    fn every_stage_but_running_is_not_ready() {
        for (stage, live) in
            [(Stage::Idle, true), (Stage::Starting, true), (Stage::Stopping, true), (Stage::Ended, false)]
        {
            let health = Health { stage, ..running() };
            assert_eq!((health.is_live(), health.is_ready()), (live, false), "{stage:?}");
            assert_eq!(Stage::of(stage as u8), stage);
        }
        let unclaimed = Health { claimed: None, ..running() };
        let without_lease = Health { lease_left: Some(Duration::ZERO), ..running() };
        assert!(!unclaimed.is_ready() && !without_lease.is_ready());
    }

    #[test]
    fn every_listening_is_told_from_its_number() {
        for listening in [Listening::Off, Listening::Connecting, Listening::Hears, Listening::Deaf] {
            assert_eq!(Listening::of(listening as u8), listening);
        }
    }
}
