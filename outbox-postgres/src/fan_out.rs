//! What this binary itself knows of an event's subscribers; publish unites it with the catalogue.

use outbox_core::{Registry, Source, SubscriberDescriptor, Versions, name};

/// The arguments of publish that depend on the event's name alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct FanOut {
    pub(crate) patterns: Vec<String>,
    pub(crate) handlers: Vec<&'static str>,
    pub(crate) max_attempts: Vec<i32>,
    pub(crate) priorities: Vec<i16>,
    pub(crate) any_version: Vec<bool>,
    /// In-transaction subscribers that are linked, by name and alias.
    pub(crate) in_transaction: Vec<&'static str>,
    /// The same, to be run.
    pub(crate) subscribers: Vec<&'static SubscriberDescriptor>,
}

impl FanOut {
    pub(crate) fn of(registry: &Registry, event: &str) -> Self {
        let mut fan_out = Self { patterns: name::patterns_of(event), ..Self::default() };
        for subscriber in registry.handlers_of(event) {
            if subscriber.in_transaction {
                fan_out.in_transaction.extend(subscriber.all_names());
                fan_out.subscribers.push(subscriber);
                continue;
            }
            fan_out.handlers.push(subscriber.name);
            fan_out.max_attempts.push(max_attempts(subscriber));
            fan_out.priorities.push(i16::from(subscriber.settings.priority));
            fan_out.any_version.push(subscriber.versions == Versions::Any);
        }
        fan_out
    }
}

/// As the column holds it.
pub(crate) fn max_attempts(subscriber: &SubscriberDescriptor) -> i32 {
    i32::try_from(subscriber.settings.max_attempts).unwrap_or(i32::MAX)
}

/// The source of a handler as the catalogue stores it: what it receives, and of which kind that is.
pub(crate) fn source(subscriber: &SubscriberDescriptor) -> (&'static str, &'static str) {
    match subscriber.source {
        Source::Event(pattern) if subscriber.in_transaction => (pattern, "in_transaction"),
        Source::Event(pattern) => (pattern, "event"),
        Source::Job(job) => (job, "job"),
        // Its jobs are of its own name, and no event fans out to it.
        Source::Schedule(_) => (subscriber.name, "job"),
    }
}
