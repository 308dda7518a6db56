//! The executions that run now, and which of them are long past their time: those block their thread, and hold their slot
//! until they let go of it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::roster::Roster;
use crate::health::{Overdue, overdue_after};

/// What runs, each at a place of its own, which is its number.
#[derive(Debug, Default)]
pub(crate) struct Underway {
    places: Vec<Option<Running>>,
    /// Places that nobody has.
    free: Vec<usize>,
    running: u32,
}

#[derive(Debug)]
struct Running {
    handler: usize,
    started: Instant,
    /// Whether it was past its time at the last look.
    late: bool,
}

impl Underway {
    /// An execution of `handler` starts; answers the number that it ends by.
    pub(crate) fn started(&mut self, handler: usize, now: Instant) -> usize {
        let running = Some(Running { handler, started: now, late: false });
        self.running += 1;
        if let Some(place) = self.free.pop() {
            self.places[place] = running;
            return place;
        }
        self.places.push(running);
        self.places.len() - 1
    }

    /// Its handler is done, and it will end.
    pub(crate) fn returned(&mut self, execution: usize) {
        self.running -= u32::from(self.places[execution].take().is_some());
    }

    /// Its number is another one's from here on.
    pub(crate) fn ended(&mut self, execution: usize) {
        self.returned(execution);
        self.free.push(execution);
    }

    pub(crate) fn len(&self) -> u32 {
        self.running
    }

    /// The handlers with executions past their time; `slots` tells how many a handler may have at once. An execution counts from
    /// the second look on: behind a pause of the whole process all are late, and end as soon as they get to it.
    pub(crate) fn overdue(&mut self, now: Instant, roster: &Roster, slots: impl Fn(usize) -> u32) -> Vec<Overdue> {
        let mut found: BTreeMap<usize, (u32, Duration)> = BTreeMap::new();
        for running in self.places.iter_mut().flatten() {
            let runs = now.saturating_duration_since(running.started);
            let late_before = running.late;
            running.late = runs > overdue_after(roster.handler(running.handler));
            if running.late && late_before {
                let (executions, longest) = found.entry(running.handler).or_default();
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

#[cfg(test)]
mod tests {
    use outbox_core::{Guard, Outcome, Place, Settings, Source, SubscriberDescriptor, Versions};

    use super::*;

    static PROMPT: SubscriberDescriptor = SubscriberDescriptor {
        name: "a.prompt",
        aliases: &[],
        source: Source::Event("order.placed"),
        in_transaction: false,
        versions: Versions::Only(&[1]),
        guard: Guard::None,
        idempotent: Some("does nothing"),
        settings: Settings { timeout: Duration::from_secs(1), ..Settings::DEFAULT },
        requires: |_| {},
        call: |_| Box::pin(async { Outcome::Done }),
        place: Place { package: "test", module_path: "test", file: "test.rs", line: 1 },
    };

    /// A process that was frozen, or stood in a debugger, finds all of its executions late: they end by their timeout in the next
    /// moment, and are no reason to start it anew.
    #[test]
    fn behind_a_pause_of_the_process_nothing_counts_as_blocked_at_once() {
        let roster = Roster::new(vec![&PROMPT]);
        let mut underway = Underway::default();
        let (ends, blocks) = (underway.started(0, Instant::now()), underway.started(0, Instant::now()));
        let resumed = Instant::now() + Duration::from_mins(1);
        assert_eq!(underway.overdue(resumed, &roster, |_| 2), []);
        underway.ended(ends);
        let blocked = underway.overdue(resumed, &roster, |_| 2);
        assert_eq!(blocked.len(), 1);
        assert_eq!(blocked[0].executions, 1);
        assert!(blocked[0].longest >= Duration::from_mins(1));
        underway.ended(blocks);
        assert_eq!(underway.overdue(resumed, &roster, |_| 2), []);
    }

    /// One that hands its outcome over counts no more, and keeps its number until it has ended.
    #[test]
    fn a_number_is_one_executions_until_it_has_ended() {
        let mut underway = Underway::default();
        let (returned, runs) = (underway.started(0, Instant::now()), underway.started(0, Instant::now()));
        underway.returned(returned);
        assert_eq!(underway.len(), 1);
        let third = underway.started(0, Instant::now());
        assert!(third != returned && third != runs);
        underway.ended(returned);
        assert_eq!(underway.len(), 2);
        assert_eq!(underway.started(0, Instant::now()), returned);
    }
}
