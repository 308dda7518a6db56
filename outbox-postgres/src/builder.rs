//! From a pool and a few settings to an [`Outbox`], or to every reason why not.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use outbox_core::lease::Lease;
use outbox_core::{Fault, Registry, SubscriberDescriptor, TypeMap, name};
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use crate::catalogue::Catalogue;
use crate::config::{Config, Direct};
use crate::error::{BuildError, SettingFault};
use crate::executing::Executing;
use crate::fan_out::FanOut;
use crate::lane::{self, Lane};
use crate::meters::Meters;
use crate::outbox::{Inner, Outbox};
use crate::parked::AskedTo;
use crate::profile::Profile;
use crate::retention::Retention;
use crate::schema::Schema;
use crate::step::Statements;
use crate::wake::Wake;
use crate::{opening, scope};

/// How often an idle worker may look: not without a pause, and at least once a day.
const POLL_BOUNDS: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);

/// Describes an [`Outbox`]. Every setting has a default that works.
#[derive(Debug)]
#[must_use = "nothing is built until `build()`"]
pub struct OutboxBuilder {
    pool: PgPool,
    registry: Registry,
    state: TypeMap,
    config: Config,
    schema: Option<String>,
    lease: Option<Duration>,
    profiles: Vec<Profile>,
    said: Said,
}

/// What was said for itself, whatever the profile.
#[derive(Debug, Default)]
struct Said {
    batch: Option<u32>,
    prefetch: Option<u32>,
    poll_interval: Option<Duration>,
}

impl Said {
    fn within(&self, profile: Profile) -> Profile {
        Profile {
            batch: self.batch.unwrap_or(profile.batch),
            prefetch: self.prefetch.unwrap_or(profile.prefetch),
            poll_interval: self.poll_interval.unwrap_or(profile.poll_interval),
            debounce: profile.debounce,
            hand_over: profile.hand_over,
        }
    }
}

impl OutboxBuilder {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            registry: Registry::linked(),
            state: TypeMap::default(),
            config: Config::default(),
            schema: None,
            lease: None,
            profiles: Vec::new(),
            said: Said::default(),
        }
    }

    /// A value that handlers take as `State<T>`, cloned for each execution. `build()` refuses when a handler that this process
    /// runs takes one that was not given.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state.insert(value);
        self
    }

    /// The schema that its tables live in. Default: `system`.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Runs only the handlers of these modules (the first word of their stored names). Default: all that are linked. What is
    /// published still reaches every subscriber.
    pub fn modules<M: Into<String>>(mut self, modules: impl IntoIterator<Item = M>) -> Self {
        self.config.modules = Some(modules.into_iter().map(Into::into).collect());
        self
    }

    /// What it is tuned for: `Profile::low_latency()`, `Profile::high_throughput()`, or between the two, the default.
    /// `.batch(..)`, `.prefetch(..)` and `.poll_interval(..)` win over it, before or behind it.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profiles.push(profile);
        self
    }

    /// Most executions at once in this process. Default: 16.
    pub fn concurrency(mut self, most: u32) -> Self {
        self.config.concurrency = most;
        self
    }

    /// Most executions at once of one module's handlers in this process. Default: as many as the process.
    pub fn module_concurrency(mut self, module: impl Into<String>, most: u32) -> Self {
        self.config.module_concurrency.insert(module.into(), most);
        self
    }

    /// Most jobs of one claim. Default: the [`Profile`]'s, 100.
    pub fn batch(mut self, most: u32) -> Self {
        self.said.batch = Some(most);
        self
    }

    /// Most claimed jobs that wait in memory beside those that run; 0 claims into free slots only. Default: the
    /// [`Profile`]'s, 100.
    pub fn prefetch(mut self, most: u32) -> Self {
        self.said.prefetch = Some(most);
        self
    }

    /// How long this worker keeps its jobs when it stops answering: 2 s to 10 min. Another worker takes them over within a
    /// second behind that. Default: 10 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How often an idle worker looks for due jobs, a fifth more at most: 1 ms to a day. Default: the [`Profile`]'s, 1 s.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.said.poll_interval = Some(interval);
        self
    }

    /// Neither NOTIFY nor LISTEN: work of other processes is found by polling alone. For servers where they do not work.
    pub fn poll_only(mut self) -> Self {
        self.config.poll_only = true;
        self
    }

    /// Where the engine's own connections go, when the application's pool goes through a pooler: past it, to the server
    /// itself. A few connections a process; with them everything works as without a pooler, LISTEN too. This is the better one of
    /// the two ways to live with a pooler, see the operations guide. Default: the options of the application's pool.
    pub fn direct(mut self, server: PgConnectOptions) -> Self {
        self.config.direct = Some(Direct(server));
        self
    }

    /// The server is reached only through a pooler in transaction mode (PgBouncer with `pool_mode = transaction` and the
    /// like), by the application's pool and by the engine. The engine then relies on nothing that a session holds: each of its
    /// steps begins, sets what it needs for this transaction, and commits, which is two round trips more. Work of other processes is
    /// found by polling alone, because LISTEN does not work there.
    ///
    /// Prepared statements have to work through the pooler: PgBouncer 1.21 or newer with `max_prepared_statements` above 0. An older
    /// one will not do.
    pub fn transaction_pooler(mut self) -> Self {
        self.config.transaction_pooler = true;
        self
    }

    /// How long a shutdown waits for running handlers. Default: 10 s. Stay two to three seconds below the grace period of whatever ends
    /// the process: what they came to is settled behind it, and the worker unregistered.
    pub fn shutdown_budget(mut self, budget: Duration) -> Self {
        self.config.shutdown_budget = budget;
        self
    }

    /// Largest payload, in bytes of JSON. Default: 1 MiB.
    pub fn payload_limit(mut self, bytes: usize) -> Self {
        self.config.payload_limit = bytes;
        self
    }

    /// How many times a job's process may die while it is held, before the job fails. Default: 3.
    pub fn crash_limit(mut self, crashes: u32) -> Self {
        self.config.crash_limit = crashes;
        self
    }

    /// How long what has ended is kept, on every node that says nothing shorter. Default: succeeded jobs for 7 days, events for 30,
    /// keys for 90, failed jobs for a year; `Retention::off()` removes nothing.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.config.retention = retention;
        self
    }

    /// The service that this process is a part of: what `#[event(.., owner = "policy")]` calls it. An event that names another owner, or any
    /// where none is said here, is not published; it is subscribed to and ingested as any other.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.config.service = Some(name.into());
        self
    }

    /// A name for logs and the `worker` table. Default: host name and process id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// What counts as linked. Default: everything that is linked. For tests, which want other wirings beside each other.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Checks the wiring and the settings, reports every fault at once, checks the tables, and declares this binary's handlers
    /// to the catalogue that every publisher reads.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// # Cancel safety
    /// Dropped in the middle, the handlers are declared or not; nothing else happens.
    pub async fn build(mut self) -> Result<Outbox, BuildError> {
        let faults = self.wiring_faults();
        if !faults.is_empty() {
            return Err(BuildError::Wiring(faults));
        }
        if let Some(schema) = &self.schema {
            self.config.schema = Schema::new(schema)?;
        }
        let runs = self.checked_settings()?;
        let outbox = self.assemble(runs);
        opening::open(&outbox).await?;
        Ok(outbox)
    }

    /// Every mistake in the wiring. State is asked for by those handlers only that this process runs: in-transaction subscribers run
    /// wherever something is published.
    fn wiring_faults(&self) -> Vec<Fault> {
        let mut faults = self.registry.faults(&self.state);
        faults.retain(|fault| !matches!(fault, Fault::MissingState { subscriber, .. } if !self.may_run(subscriber)));
        faults
    }

    fn may_run(&self, subscriber: &str) -> bool {
        let linked = self.registry.subscribers();
        self.runs_module(name::module_of(subscriber))
            || linked.iter().any(|one| one.in_transaction && one.name == subscriber)
    }

    fn runs_module(&self, module: &str) -> bool {
        self.config.modules.as_ref().is_none_or(|modules| modules.iter().any(|one| one == module))
    }

    /// The handlers that this process runs, when every setting can work.
    fn checked_settings(&mut self) -> Result<Vec<&'static SubscriberDescriptor>, BuildError> {
        let mut faults = Vec::new();
        if let Some(length) = self.lease {
            match Lease::new(length) {
                Some(lease) => self.config.lease = lease,
                None => faults.push(SettingFault::Lease(length)),
            }
        }
        if let Some(service) = self.config.service.as_ref().filter(|service| !name::is_service(service)) {
            faults.push(SettingFault::Service(service.clone()));
        }
        if self.profiles.iter().any(|profile| *profile != self.profiles[0]) {
            faults.push(SettingFault::Profiles);
        }
        self.config.profile = self.said.within(self.profiles.first().copied().unwrap_or_default());
        let profile = self.config.profile;
        if !POLL_BOUNDS.contains(&profile.poll_interval) {
            faults.push(SettingFault::PollInterval(profile.poll_interval));
        }
        if self.config.transaction_pooler && self.config.direct.is_some() {
            faults.push(SettingFault::Contradiction("transaction_pooler", "direct"));
        }
        let numbers = [
            ("concurrency", self.config.concurrency),
            ("batch", profile.batch),
            ("crash_limit", self.config.crash_limit),
        ];
        faults.extend(numbers.iter().filter(|(_, number)| *number == 0).map(|(option, _)| SettingFault::Zero(option)));
        if self.config.module_concurrency.values().any(|most| *most == 0) {
            faults.push(SettingFault::Zero("module_concurrency"));
        }
        faults.extend(self.config.retention.faults().into_iter().map(SettingFault::Retention));
        let linked: BTreeSet<_> = self.registry.subscribers().iter().map(|one| one.module()).collect();
        let unknown = |option, module: &String| SettingFault::UnknownModule {
            option,
            module: module.clone(),
            linked: linked.iter().copied().collect::<Vec<_>>().join(", "),
        };
        let is_unknown = |module: &&String| !linked.contains(module.as_str());
        faults.extend(self.config.modules.iter().flatten().filter(is_unknown).map(|module| unknown("modules", module)));
        faults.extend(
            self.config
                .module_concurrency
                .keys()
                .filter(is_unknown)
                .map(|module| unknown("module_concurrency", module)),
        );
        if !faults.is_empty() {
            return Err(BuildError::Settings(faults));
        }
        let wanted =
            |module: &str| self.config.modules.as_ref().is_none_or(|modules| modules.iter().any(|one| one == module));
        let runs = |one: &&SubscriberDescriptor| !one.in_transaction && wanted(one.module());
        Ok(self.registry.subscribers().iter().copied().filter(runs).collect())
    }

    fn assemble(self, runs: Vec<&'static SubscriberDescriptor>) -> Outbox {
        let names = self.registry.events().iter().map(|event| event.name).collect::<BTreeSet<_>>();
        let fan_outs: HashMap<_, _> = names.into_iter().map(|name| (name, FanOut::of(&self.registry, name))).collect();
        let direct = self.config.direct.clone();
        let options = direct.map_or_else(|| self.pool.connect_options(), |Direct(server)| Arc::new(server));
        let lane = Lane::new(&options, self.config.sharing(), "wake").with_settings(lane::UNFLUSHED);
        let wake = Wake::new(lane, self.config.schema.channel(), self.config.poll_only, self.config.profile.debounce);
        let meters = Meters::new(&runs, self.registry.events().iter().map(|one| one.name));
        let inner = Arc::new(Inner {
            statements: Statements::new(&self.config.schema),
            pool: self.pool,
            config: self.config,
            registry: self.registry,
            runs,
            state: self.state,
            fan_outs,
            catalogue: Catalogue::default(),
            wake: Arc::new(wake),
            published: AtomicU64::new(0),
            running: AtomicBool::new(false),
            vitals: Arc::default(),
            executing: Executing::default(),
            live: Arc::default(),
            meters,
            asked_to: AskedTo::default(),
        });
        scope::register(&inner);
        Outbox::from_inner(inner)
    }
}
