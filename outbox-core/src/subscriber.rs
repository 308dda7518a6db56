//! What `#[subscriber]` and `#[scheduled]` register: a handler's name, what it receives, and how it is run.

use std::fmt;
use std::time::Duration;

use crate::BoxFuture;
use crate::delivery::Delivery;
use crate::idempotency::Guard;
use crate::message::Versions;
use crate::outcome::Outcome;
use crate::retry::Backoff;
use crate::schedule::Schedule;
use crate::state::Requirements;

/// Executions allowed unless a handler says another number.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 8;
/// Longest execution unless a handler says another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest execution of an in-transaction subscriber unless it says another: its publisher's transaction waits.
pub const DEFAULT_IN_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Priority unless a handler says another; 0 runs first, 3 last.
pub const DEFAULT_PRIORITY: u8 = 1;
/// The last priority.
pub const LOWEST_PRIORITY: u8 = 3;

/// Where an item is declared, so that a fault can point at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Cargo package.
    pub package: &'static str,
    /// Path of the module.
    pub module_path: &'static str,
    /// Source file, as the compiler was given it.
    pub file: &'static str,
    /// Line of the attribute.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} (crate `{}`)", self.file, self.line, self.package)
    }
}

/// What a handler receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Every event that the pattern means: `order.placed`, `order.*` or `*`.
    Event(&'static str),
    /// The job of this name.
    Job(&'static str),
    /// The jobs that a schedule of the handler's own name writes.
    Schedule(Schedule),
}

/// How a handler is run. What is not said takes the default.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Executions allowed, at least 1.
    pub max_attempts: u32,
    /// When a failed attempt is repeated.
    pub backoff: Backoff,
    /// Longest execution.
    pub timeout: Duration,
    /// 0 runs first, 3 last.
    pub priority: u8,
    /// Most executions at once in one process; `None` leaves it to the worker's own limit.
    pub concurrency: Option<u32>,
    /// Most messages of one execution; `None` for a handler that takes no [`Batch`](crate::Batch), but one message.
    pub batch: Option<u32>,
    /// Whether a call that was broken off (its time, a panic, its worker's end) leaves the job parked until the owner of its effect has
    /// answered, in place of a retry.
    pub parks: bool,
}

impl Settings {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        max_attempts: DEFAULT_MAX_ATTEMPTS,
        backoff: Backoff::DEFAULT,
        timeout: DEFAULT_TIMEOUT,
        priority: DEFAULT_PRIORITY,
        concurrency: None,
        batch: None,
        parks: false,
    };
}

/// One handler.
pub struct SubscriberDescriptor {
    /// Stored name, which is the type of its jobs.
    pub name: &'static str,
    /// Earlier stored names, oldest first. Jobs stored under them are still run, and the oldest stays in the idempotency key.
    pub aliases: &'static [&'static str],
    /// What it receives.
    pub source: Source,
    /// Whether it runs inside of `publish`, on the publisher's connection, and has no job.
    pub in_transaction: bool,
    /// Which payload versions it can take.
    pub versions: Versions,
    /// What running it twice relies on.
    pub guard: Guard,
    /// Why running it twice is safe, when its parameters do not already say so.
    pub idempotent: Option<&'static str>,
    /// How it is run.
    pub settings: Settings,
    /// Collects the application state that its parameters need.
    pub requires: fn(&mut Requirements),
    /// Decodes, extracts and calls.
    pub call: for<'a> fn(Delivery<'a>) -> BoxFuture<'a, Outcome>,
    /// Where it is declared.
    pub place: Place,
}

impl SubscriberDescriptor {
    /// The name under which it was first known: the oldest alias, else its name.
    #[must_use]
    pub fn original_name(&self) -> &'static str {
        self.aliases.first().copied().unwrap_or(self.name)
    }

    /// Its name and every earlier one.
    pub fn all_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Its schedule, when it has one.
    #[must_use]
    pub fn schedule(&self) -> Option<Schedule> {
        match self.source {
            Source::Schedule(schedule) => Some(schedule),
            Source::Event(_) | Source::Job(_) => None,
        }
    }

    /// The first word of its name.
    #[must_use]
    pub fn module(&self) -> &'static str {
        crate::name::module_of(self.name)
    }
}

impl fmt::Debug for SubscriberDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriberDescriptor")
            .field("name", &self.name)
            .field("source", &self.source)
            .field("guard", &self.guard)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

inventory::collect!(SubscriberDescriptor);

/// A crate or module that `modules!` names.
#[derive(Debug)]
pub struct RequiredModule {
    /// Its name as said.
    pub name: &'static str,
    /// The module that says it.
    pub said_in: &'static str,
    /// Where it is said.
    pub place: Place,
}

inventory::collect!(RequiredModule);
