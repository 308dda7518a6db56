//! The executions that run now, and which of them are long past their time: those block their thread, and hold their slot
//! until they let go of it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::roster::Roster;
use crate::health::{Overdue, overdue_after};

/// What runs, by a number of its own.
#[derive(Debug, Default)]
pub(crate) struct Underway {
    executions: HashMap<u64, (usize, Instant)>,
    next: u64,
}

impl Underway {
    /// An execution of `handler` starts; answers the number that it ends by.
    pub(crate) fn started(&mut self, handler: usize) -> u64 {
        self.next += 1;
        self.executions.insert(self.next, (handler, Instant::now()));
        self.next
    }

    pub(crate) fn ended(&mut self, execution: u64) {
        self.executions.remove(&execution);
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.executions.len()).unwrap_or(u32::MAX)
    }

    /// The handlers with executions past their time; `slots` tells how many a handler may have at once.
    pub(crate) fn overdue(&self, roster: &Roster, slots: impl Fn(usize) -> u32) -> Vec<Overdue> {
        let mut found: BTreeMap<usize, (u32, Duration)> = BTreeMap::new();
        for (handler, started) in self.executions.values() {
            let runs = started.elapsed();
            if runs > overdue_after(roster.handler(*handler)) {
                let (executions, longest) = found.entry(*handler).or_default();
                (*executions, *longest) = (*executions + 1, runs.max(*longest));
            }
        }
        let overdue = |(handler, (executions, longest))| Overdue {
            handler: roster.handler(handler).name,
            executions,
            slots: slots(handler),
            longest,
        };
        found.into_iter().map(overdue).collect()
    }
}
