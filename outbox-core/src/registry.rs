//! All that is linked into this binary: which events, jobs and handlers, and whether they fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::EventDescriptor;
use crate::job::JobDescriptor;
use crate::message::Versions;
use crate::name;
use crate::shape::Shape;
use crate::state::{Requirements, TypeMap};
use crate::subscriber::{Place, RequiredModule, Source, SubscriberDescriptor};

/// What is linked, each kind sorted by name: neither the linker nor the order of modules decides anything.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    events: Vec<&'static EventDescriptor>,
    jobs: Vec<&'static JobDescriptor>,
    subscribers: Vec<&'static SubscriberDescriptor>,
    required: Vec<&'static RequiredModule>,
}

/// One mistake in the wiring. `build()` reports all of them at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Two events carry one name and version.
    #[error(
        "two events are named `{name}` (version {version}): {first} and {second}; give one of them another name or version"
    )]
    DuplicateEvent {
        /// The name.
        name: &'static str,
        /// The version.
        version: u32,
        /// One place.
        first: Place,
        /// The other.
        second: Place,
    },
    /// Two jobs carry one name and version.
    #[error(
        "two jobs are named `{name}` (version {version}): {first} and {second}; give one of them another name or version"
    )]
    DuplicateJob {
        /// The name.
        name: &'static str,
        /// The version.
        version: u32,
        /// One place.
        first: Place,
        /// The other.
        second: Place,
    },
    /// Two handlers carry one stored name, as name or alias.
    #[error("two handlers answer to `{name}`: {first} and {second}; give one of them another `name = \"..\"`")]
    DuplicateSubscriber {
        /// The name.
        name: &'static str,
        /// One place.
        first: Place,
        /// The other.
        second: Place,
    },
    /// A schedule carries the name of a job.
    #[error("a schedule and a job are both named `{name}`: {schedule} and {job}; give one of them another name")]
    ScheduleIsAJob {
        /// The name.
        name: &'static str,
        /// The schedule's place.
        schedule: Place,
        /// The job's.
        job: Place,
    },
    /// A handler of an event that is not linked.
    #[error(
        "subscriber `{subscriber}` ({place}) receives the event `{event}`, which no linked crate declares: add its crate to `outbox::modules![..]`"
    )]
    UnknownEvent {
        /// The handler.
        subscriber: &'static str,
        /// What it receives.
        event: &'static str,
        /// Where it is declared.
        place: Place,
    },
    /// A handler that takes the envelope of one version of an event, which is stored as another.
    #[error(
        "subscriber `{subscriber}` ({place}) takes the `Envelope` of version {version} of `{event}`, which `also_as` stores as version {stored} until it is taken out: take the event's type, which is read from both, or a pattern"
    )]
    StoredAsAnother {
        /// The handler.
        subscriber: &'static str,
        /// What it receives.
        event: &'static str,
        /// The version that it takes.
        version: u32,
        /// The version that is stored.
        stored: u32,
        /// Where the handler is declared.
        place: Place,
    },
    /// A handler of a job that is not linked.
    #[error(
        "subscriber `{subscriber}` ({place}) handles the job `{job}`, which no linked crate declares: add its crate to `outbox::modules![..]`"
    )]
    UnknownJob {
        /// The handler.
        subscriber: &'static str,
        /// What it handles.
        job: &'static str,
        /// Where it is declared.
        place: Place,
    },
    /// A module that was asked for contributes nothing.
    #[error(
        "`modules!` ({place}) names `{module}`, which declares no event, no job, no subscriber and no schedule: is it the right crate?"
    )]
    EmptyModule {
        /// Its name.
        module: &'static str,
        /// Where it is named.
        place: Place,
    },
    /// A handler needs state that nobody gave.
    #[error(
        "the handler `{subscriber}` ({place}) needs `State<{state}>`: say `.state(..)` with a value of this type before `.build()`"
    )]
    MissingState {
        /// The handler.
        subscriber: &'static str,
        /// The type.
        state: &'static str,
        /// Where the handler is declared.
        place: Place,
    },
}

impl Registry {
    /// Everything that is linked into this binary.
    #[must_use]
    pub fn linked() -> Self {
        let mut registry = Self::of(
            inventory::iter::<EventDescriptor>(),
            inventory::iter::<JobDescriptor>(),
            inventory::iter::<SubscriberDescriptor>(),
        );
        registry.required = inventory::iter::<RequiredModule>().collect();
        registry.required.sort_by_key(|module| (module.name, module.said_in));
        registry
    }

    /// A registry of these alone; `linked()` is what a program wants.
    #[must_use]
    pub fn of(
        events: impl IntoIterator<Item = &'static EventDescriptor>,
        jobs: impl IntoIterator<Item = &'static JobDescriptor>,
        subscribers: impl IntoIterator<Item = &'static SubscriberDescriptor>,
    ) -> Self {
        let mut events: Vec<_> = events.into_iter().collect();
        events.sort_by_key(|event| (event.name, event.version, event.place.file, event.place.line));
        let mut jobs: Vec<_> = jobs.into_iter().collect();
        jobs.sort_by_key(|job| (job.name, job.version, job.place.file, job.place.line));
        let mut subscribers: Vec<_> = subscribers.into_iter().collect();
        subscribers.sort_by_key(|subscriber| (subscriber.name, subscriber.place.file, subscriber.place.line));
        // A crate that is linked twice (its unit tests depend on a crate that depends on it) declares the same item twice.
        events.dedup_by(|a, b| (a.name, a.version, a.place) == (b.name, b.version, b.place));
        jobs.dedup_by(|a, b| (a.name, a.version, a.place) == (b.name, b.version, b.place));
        subscribers.dedup_by(|a, b| (a.name, a.place) == (b.name, b.place));
        Self { events, jobs, subscribers, required: Vec::new() }
    }

    /// The same registry with only those handlers that `keep` wants; events and jobs stay.
    #[must_use]
    pub fn with_subscribers(&self, keep: impl Fn(&SubscriberDescriptor) -> bool) -> Self {
        let subscribers = self.subscribers.iter().copied().filter(|subscriber| keep(subscriber)).collect();
        Self { subscribers, required: Vec::new(), ..self.clone() }
    }

    /// Events by name and version.
    #[must_use]
    pub fn events(&self) -> &[&'static EventDescriptor] {
        &self.events
    }

    /// Jobs by name and version.
    #[must_use]
    pub fn jobs(&self) -> &[&'static JobDescriptor] {
        &self.jobs
    }

    /// Handlers by name.
    #[must_use]
    pub fn subscribers(&self) -> &[&'static SubscriberDescriptor] {
        &self.subscribers
    }

    /// Handlers of the event called `event`, by name.
    pub fn handlers_of<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'static SubscriberDescriptor> + 'a {
        self.subscribers.iter().copied().filter(
            move |subscriber| matches!(subscriber.source, Source::Event(pattern) if name::matches(pattern, event)),
        )
    }

    /// Every mistake in the wiring, with `state` as what the application gave.
    #[must_use]
    pub fn faults(&self, state: &TypeMap) -> Vec<Fault> {
        let mut faults = self.duplicates();
        faults.extend(self.orphans());
        faults.extend(self.stored_as_another());
        faults.extend(self.empty_modules());
        faults.extend(self.missing_state(state));
        faults
    }

    fn duplicates(&self) -> Vec<Fault> {
        let events = self
            .events
            .windows(2)
            .filter(|pair| (pair[0].name, pair[0].version) == (pair[1].name, pair[1].version))
            .map(|pair| Fault::DuplicateEvent {
                name: pair[0].name,
                version: pair[0].version,
                first: pair[0].place,
                second: pair[1].place,
            });
        let jobs =
            self.jobs.windows(2).filter(|pair| (pair[0].name, pair[0].version) == (pair[1].name, pair[1].version)).map(
                |pair| Fault::DuplicateJob {
                    name: pair[0].name,
                    version: pair[0].version,
                    first: pair[0].place,
                    second: pair[1].place,
                },
            );
        let mut answering: Vec<_> = self
            .subscribers
            .iter()
            .flat_map(|subscriber| subscriber.all_names().map(|name| (name, subscriber.place)))
            .collect();
        answering.sort_by_key(|(name, place)| (*name, place.file, place.line));
        let subscribers = answering
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| Fault::DuplicateSubscriber { name: pair[0].0, first: pair[0].1, second: pair[1].1 });
        events.chain(jobs).chain(subscribers).chain(self.schedules_that_are_jobs()).collect()
    }

    /// Both write jobs of that type, each with a payload of its own.
    fn schedules_that_are_jobs(&self) -> impl Iterator<Item = Fault> + '_ {
        let names = |one: &'static SubscriberDescriptor| one.all_names().map(move |name| (name, one.place));
        let scheduled = self.subscribers.iter().filter(|one| one.schedule().is_some()).flat_map(move |one| names(one));
        scheduled.filter_map(|(name, schedule)| {
            let job = self.jobs.iter().find(|job| job.name == name)?;
            Some(Fault::ScheduleIsAJob { name, schedule, job: job.place })
        })
    }

    fn orphans(&self) -> impl Iterator<Item = Fault> + '_ {
        self.subscribers.iter().filter_map(|subscriber| match subscriber.source {
            Source::Event(event)
                if !name::is_wildcard(event) && !self.events.iter().any(|known| known.name == event) =>
            {
                Some(Fault::UnknownEvent { subscriber: subscriber.name, event, place: subscriber.place })
            }
            Source::Job(job) if !self.jobs.iter().any(|known| known.name == job) => {
                Some(Fault::UnknownJob { subscriber: subscriber.name, job, place: subscriber.place })
            }
            Source::Event(_) | Source::Job(_) | Source::Schedule(_) => None,
        })
    }

    /// Its jobs would wait for a binary that takes the stored version.
    fn stored_as_another(&self) -> impl Iterator<Item = Fault> + '_ {
        self.subscribers.iter().filter_map(|subscriber| {
            let (Source::Event(event), Versions::Only(versions)) = (subscriber.source, subscriber.versions) else {
                return None;
            };
            let takes = |version| versions.contains(&version);
            let of_it = self.events.iter().filter(|known| known.name == event);
            let lost = of_it.into_iter().find(|known| takes(known.version) && !takes(known.stored_version))?;
            let (version, stored) = (lost.version, lost.stored_version);
            Some(Fault::StoredAsAnother {
                subscriber: subscriber.name,
                event,
                version,
                stored,
                place: subscriber.place,
            })
        })
    }

    fn empty_modules(&self) -> impl Iterator<Item = Fault> + '_ {
        self.required
            .iter()
            .filter(|module| !self.declares_something(module))
            .map(|module| Fault::EmptyModule { module: module.name, place: module.place })
    }

    /// `modules![inventory]` means a crate, or a module of the place that says it.
    fn declares_something(&self, module: &RequiredModule) -> bool {
        let local = format!("{}::{}", module.said_in, module.name);
        let is_inside = |place: &Place| {
            [module.name, &local].iter().any(|root| {
                place.module_path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            })
        };
        self.events.iter().any(|event| is_inside(&event.place))
            || self.jobs.iter().any(|job| is_inside(&job.place))
            || self.subscribers.iter().any(|subscriber| is_inside(&subscriber.place))
    }

    fn missing_state<'a>(&'a self, state: &'a TypeMap) -> impl Iterator<Item = Fault> + 'a {
        self.subscribers.iter().flat_map(move |subscriber| {
            let mut needs = Requirements::new();
            (subscriber.requires)(&mut needs);
            needs.retain(|need| !state.contains(need.id));
            needs.into_iter().map(|need| Fault::MissingState {
                subscriber: subscriber.name,
                state: (need.name)(),
                place: subscriber.place,
            })
        })
    }

    /// Every event and job that this binary declares, by its kind and wire name (`event order.placed.v1`), with the names of its fields.
    #[must_use]
    pub fn shapes(&self) -> BTreeMap<String, Shape> {
        let events = self.events.iter().map(|one| (format!("event {}.v{}", one.name, one.version), (one.shape)()));
        let jobs = self.jobs.iter().map(|one| (format!("job {}.v{}", one.name, one.version), (one.shape)()));
        events.chain(jobs).collect()
    }

    /// Every stored name that this binary declares, with its kind, sorted: what must not disappear unnoticed.
    #[must_use]
    pub fn stored_names(&self) -> Vec<String> {
        let events = self.events.iter().map(|event| format!("event {} v{}", event.name, event.version));
        let jobs = self.jobs.iter().map(|job| format!("job {} v{}", job.name, job.version));
        let subscribers = self
            .subscribers
            .iter()
            .flat_map(|subscriber| subscriber.all_names())
            .map(|name| format!("subscriber {name}"));
        let mut names: Vec<_> = events.chain(jobs).chain(subscribers).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The wiring as a person reads it: `order.placed -> [..]`, a line an event or job, a name a line below. Handlers that take an event by a
/// pattern stand below the pattern, and below each event that it matches with the pattern behind them.
impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: BTreeMap<&str, Vec<(&SubscriberDescriptor, Option<&str>)>> =
            self.events.iter().map(|event| (event.name, Vec::new())).collect();
        lines.extend(self.jobs.iter().map(|job| (job.name, Vec::new())));
        for subscriber in &self.subscribers {
            if let Source::Event(source) | Source::Job(source) = subscriber.source {
                lines.entry(source).or_default().push((*subscriber, None));
            }
        }
        for subscriber in &self.subscribers {
            let Source::Event(pattern) = subscriber.source else { continue };
            let is_taken = |name: &str| name::is_wildcard(pattern) && name::matches(pattern, name);
            let events: BTreeSet<_> =
                self.events.iter().map(|event| event.name).filter(|name| is_taken(name)).collect();
            for event in events {
                lines.entry(event).or_default().push((*subscriber, Some(pattern)));
            }
        }
        for (source, handlers) in lines {
            if handlers.is_empty() {
                writeln!(f, "{source} -> []")?;
                continue;
            }
            writeln!(f, "{source} -> [")?;
            for (handler, pattern) in handlers {
                let remark = match (pattern, handler.in_transaction) {
                    (None, false) => String::new(),
                    (None, true) => " (in the transaction)".to_owned(),
                    (Some(pattern), false) => format!(" (by {pattern})"),
                    (Some(pattern), true) => format!(" (by {pattern}, in the transaction)"),
                };
                writeln!(f, "  {}{remark},", handler.name)?;
            }
            writeln!(f, "]")?;
        }
        for subscriber in &self.subscribers {
            if let Some(schedule) = subscriber.schedule() {
                writeln!(f, "{} -> {}", schedule.cadence, subscriber.name)?;
            }
        }
        Ok(())
    }
}
