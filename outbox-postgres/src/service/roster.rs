//! Which handlers this process runs, numbered, with the ranges that it claims.

use std::collections::BTreeMap;

use outbox_core::slots::{Limit, Slots};
use outbox_core::transition::DEFAULT_CRASH_LIMIT;
use outbox_core::{Guard, SubscriberDescriptor, Versions};

use crate::hashed::HashMap;
use crate::outbox::Outbox;
use crate::step::claim::Wanted;

/// The handlers of this process, in the order of their names.
#[derive(Debug)]
pub(crate) struct Roster {
    handlers: Vec<&'static SubscriberDescriptor>,
    /// Stored name or alias -> number of its handler.
    by_name: HashMap<&'static str, usize>,
    ranges: Vec<Range>,
    crash_limit: u32,
}

/// What one range of a claim is: a stored name and a version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) handler: usize,
    pub(crate) job_type: &'static str,
    pub(crate) version: i32,
}

impl Roster {
    pub(crate) fn of(outbox: &Outbox) -> Self {
        Self { crash_limit: outbox.config().crash_limit, ..Self::new(outbox.inner().runs.clone()) }
    }

    pub(crate) fn new(handlers: Vec<&'static SubscriberDescriptor>) -> Self {
        let numbered = handlers.iter().enumerate();
        let names: Vec<_> =
            numbered.flat_map(|(number, one)| one.all_names().map(move |name| (name, number))).collect();
        let by_name = names.iter().copied().collect();
        let ranges = names.into_iter().flat_map(|(job_type, handler)| {
            let versions = versions(handlers[handler]);
            versions.into_iter().map(move |version| Range { handler, job_type, version })
        });
        let ranges = ranges.collect();
        Self { handlers, by_name, ranges, crash_limit: DEFAULT_CRASH_LIMIT }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.handlers.len()
    }

    pub(crate) fn handler(&self, number: usize) -> &'static SubscriberDescriptor {
        self.handlers[number]
    }

    /// Most jobs of one call of a handler.
    pub(crate) fn batch(&self, number: usize) -> u32 {
        self.handlers[number].settings.batch.unwrap_or(1).max(1)
    }

    pub(crate) fn number_of(&self, job_type: &str) -> Option<usize> {
        self.by_name.get(job_type).copied()
    }

    pub(crate) fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// The ranges as the worker's row tells them to others.
    pub(crate) fn announced(&self) -> Vec<String> {
        self.ranges.iter().map(|range| format!("{}@{}", range.job_type, range.version)).collect()
    }

    /// The ranges as two columns.
    pub(crate) fn pairs(&self) -> (Vec<&'static str>, Vec<i32>) {
        self.ranges.iter().map(|range| (range.job_type, range.version)).unzip()
    }

    /// A claim that wants nothing yet, with what is the same in every claim.
    pub(crate) fn blank(&self) -> Wanted {
        let transactional = self.handlers.iter().filter(|one| one.guard == Guard::Transaction);
        let (marked, mark_names) =
            transactional.flat_map(|one| one.all_names().map(|name| (name, one.original_name()))).unzip();
        let parking = self.handlers.iter().filter(|one| one.settings.parks).flat_map(|one| one.all_names()).collect();
        Wanted { marked, mark_names, parking, crash_limit: self.crash_limit, ..Wanted::default() }
    }

    /// Most transactions of handlers at once.
    pub(crate) fn most_transactions(&self, outbox: &Outbox) -> u32 {
        let slots = self.slots(outbox);
        let transactional = (0..self.len()).filter(|number| self.handlers[*number].guard == Guard::Transaction);
        transactional.map(|number| slots.most_for(number)).sum::<u32>().min(slots.free())
    }

    /// Most executions at once: slots that no handler may take do not count.
    pub(crate) fn most_executions(&self, outbox: &Outbox) -> u32 {
        let slots = self.slots(outbox);
        let mut modules: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
        for handler in 0..self.len() {
            let (module, limit) = slots.module_of(handler);
            let (wanted, _) = modules.entry(module).or_insert((0, limit));
            *wanted = wanted.saturating_add(slots.most_for(handler));
        }
        let takes = modules.into_values().map(|(wanted, limit)| wanted.min(limit));
        takes.fold(0, u32::saturating_add).min(slots.free())
    }

    /// The process's slots: in all, by module, by handler.
    pub(crate) fn slots(&self, outbox: &Outbox) -> Slots {
        let config = outbox.config();
        let mut modules: Vec<&str> = self.handlers.iter().map(|one| one.module()).collect();
        modules.dedup();
        let module_limits: Vec<_> = modules
            .iter()
            .map(|module| config.module_concurrency.get(*module).copied().unwrap_or(config.concurrency))
            .collect();
        let number = |module| modules.iter().position(|one| *one == module).unwrap_or_default();
        let own = share(config.concurrency, self.handlers.len());
        let limits: Vec<_> = self
            .handlers
            .iter()
            .map(|one| Limit { module: number(one.module()), concurrency: one.settings.concurrency.unwrap_or(own) })
            .collect();
        Slots::new(config.concurrency, &module_limits, &limits)
    }
}

/// Slots that a handler may take when it says no number of its own: three quarters, where it is not alone, so that one slow
/// handler leaves room for the others (S0-29).
fn share(concurrency: u32, handlers: usize) -> u32 {
    if handlers > 1 { (concurrency - concurrency.div_ceil(4)).max(1) } else { concurrency }
}

fn versions(handler: &SubscriberDescriptor) -> Vec<i32> {
    match handler.versions {
        Versions::Any => vec![0],
        Versions::Only(versions) => versions.iter().map(|version| version.cast_signed()).collect(),
    }
}
