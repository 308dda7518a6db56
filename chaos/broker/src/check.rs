//! The rules, as pure functions of what both databases hold when everything has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use uuid::Uuid;

/// What both databases hold.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The sender's own rows.
    pub parcels: BTreeSet<i64>,
    /// The sender's events, with the parcel that each is of.
    pub sent: BTreeMap<Uuid, i64>,
    /// The relay's jobs.
    pub relayed: Vec<Job>,
    /// The receiver's events.
    pub received: BTreeMap<Uuid, i64>,
    /// The receiver's effects, by parcel.
    pub effects: Vec<i64>,
    /// The jobs of the receiver's handler.
    pub handled: Vec<Job>,
    /// Rows in quarantine.
    pub quarantined: u64,
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Of this event.
    pub event: Uuid,
    /// `succeeded`, if all is well.
    pub status: String,
    /// Executions that were charged.
    pub attempts: i32,
    /// Of these, how many ended with their process.
    pub crashes: i32,
}

/// What was promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A parcel is there with its event, or neither is.
    RowAndEvent,
    /// Each event of the sender has one relay job, which has succeeded.
    Relayed,
    /// What a broker that is away costs is charged to no attempt.
    NothingCharged,
    /// Each event of the sender is in the receiver's table, under its id, and no other.
    Arrived,
    /// Each has one effect.
    OneEffect,
    /// Each has one job of the handler, which has succeeded.
    Handled,
    /// Nothing that was sent is no event over there.
    NothingQuarantined,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::RowAndEvent,
        Self::Relayed,
        Self::NothingCharged,
        Self::Arrived,
        Self::OneEffect,
        Self::Handled,
        Self::NothingQuarantined,
    ];
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// By what.
    pub what: String,
}

/// How often each rule was looked at, and what broke one.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// By rule.
    pub checked: BTreeMap<Rule, u64>,
    /// In the order of the rules.
    pub violations: Vec<Violation>,
}

impl Verdict {
    fn look(&mut self, rule: Rule, holds: bool, what: impl FnOnce() -> String) {
        *self.checked.entry(rule).or_default() += 1;
        if !holds {
            self.violations.push(Violation { rule, what: what() });
        }
    }
}

/// Looks at everything.
#[must_use]
pub fn check(seen: &Seen) -> Verdict {
    let mut verdict = Verdict::default();
    let of_events: BTreeSet<_> = seen.sent.values().copied().collect();
    for number in seen.parcels.union(&of_events) {
        let both = seen.parcels.contains(number) && of_events.contains(number);
        verdict.look(Rule::RowAndEvent, both, || format!("parcel {number} is half there"));
    }
    jobs(&mut verdict, Rule::Relayed, &seen.relayed, &seen.sent);
    for job in &seen.relayed {
        // Whoever was killed with it in hand was charged for that.
        let charged = job.attempts - job.crashes;
        verdict.look(Rule::NothingCharged, charged <= 1, || format!("{job:?} took {charged} attempts"));
    }
    for (event, number) in &seen.sent {
        let arrived = seen.received.get(event) == Some(number);
        verdict.look(Rule::Arrived, arrived, || format!("event {event} of parcel {number} did not arrive"));
    }
    for (event, number) in &seen.received {
        let is_known = seen.sent.contains_key(event);
        verdict.look(Rule::Arrived, is_known, || format!("event {event} of parcel {number} was never sent"));
    }
    effects(&mut verdict, seen);
    jobs(&mut verdict, Rule::Handled, &seen.handled, &seen.received);
    let quarantined = seen.quarantined;
    verdict.look(Rule::NothingQuarantined, quarantined == 0, || format!("{quarantined} messages are in quarantine"));
    verdict
}

fn jobs(verdict: &mut Verdict, rule: Rule, jobs: &[Job], events: &BTreeMap<Uuid, i64>) {
    let mut left: BTreeSet<_> = events.keys().copied().collect();
    for job in jobs {
        let is_one = left.remove(&job.event) && job.status == "succeeded";
        verdict.look(rule, is_one, || format!("{job:?} is one too many, or has not succeeded"));
    }
    for event in left {
        verdict.look(rule, false, || format!("event {event} has no job"));
    }
}

fn effects(verdict: &mut Verdict, seen: &Seen) {
    let mut times: BTreeMap<i64, u64> = seen.received.values().map(|number| (*number, 0)).collect();
    for number in &seen.effects {
        *times.entry(*number).or_default() += 1;
    }
    let known: BTreeSet<_> = seen.received.values().collect();
    for (number, times) in &times {
        let is_one = *times == 1 && known.contains(number);
        verdict.look(Rule::OneEffect, is_one, || format!("parcel {number} has {times} effects"));
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RowAndEvent => "a row is there with its event, or neither is",
            Self::Relayed => "each event was relayed once",
            Self::NothingCharged => "an outage is charged to no attempt",
            Self::Arrived => "each event arrived under its id, and no other",
            Self::OneEffect => "each has one effect",
            Self::Handled => "each was handled once",
            Self::NothingQuarantined => "nothing is in quarantine",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(event: Uuid) -> Job {
        Job { event, status: "succeeded".to_owned(), attempts: 1, crashes: 0 }
    }

    /// Two parcels on their way, and nothing wrong.
    fn sound() -> (Seen, Uuid) {
        let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let events = BTreeMap::from([(first, 10), (second, 11)]);
        let seen = Seen {
            parcels: BTreeSet::from([10, 11]),
            sent: events.clone(),
            relayed: vec![job(first), Job { attempts: 3, crashes: 2, ..job(second) }],
            received: events,
            effects: vec![11, 10],
            handled: vec![job(first), job(second)],
            quarantined: 0,
        };
        (seen, first)
    }

    /// Which rules it breaks.
    fn broken(change: impl FnOnce(&mut Seen, Uuid)) -> BTreeSet<Rule> {
        let (mut seen, first) = sound();
        change(&mut seen, first);
        check(&seen).violations.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn what_is_sound_breaks_nothing_and_every_rule_has_looked() {
        let verdict = check(&sound().0);
        assert_eq!(verdict.violations, []);
        assert!(Rule::ALL.iter().all(|rule| verdict.checked[rule] > 0), "{verdict:?}");
    }

    #[test]
    fn each_rule_is_broken_by_what_it_forbids() {
        let only = |rule| BTreeSet::from([rule]);
        assert_eq!(broken(|seen, _| seen.parcels.retain(|number| *number != 10)), only(Rule::RowAndEvent));
        assert_eq!(broken(|seen, _| seen.parcels.extend([99])), only(Rule::RowAndEvent));
        assert_eq!(broken(|seen, _| drop(seen.relayed.pop())), only(Rule::Relayed));
        assert_eq!(broken(|seen, _| "failed".clone_into(&mut seen.relayed[0].status)), only(Rule::Relayed));
        assert_eq!(broken(|seen, _| seen.relayed[0].attempts = 2), only(Rule::NothingCharged));
        assert_eq!(broken(|seen, _| seen.effects.push(10)), only(Rule::OneEffect));
        assert_eq!(broken(|seen, _| seen.effects.truncate(1)), only(Rule::OneEffect));
        assert_eq!(broken(|seen, _| seen.effects.push(12)), only(Rule::OneEffect));
        assert_eq!(broken(|seen, first| seen.handled.push(job(first))), only(Rule::Handled));
        assert_eq!(broken(|seen, _| seen.quarantined = 1), only(Rule::NothingQuarantined));
        let lost = |seen: &mut Seen, first: Uuid| {
            seen.received.remove(&first);
            seen.effects.retain(|number| *number != 10);
            seen.handled.retain(|job| job.event != first);
        };
        assert_eq!(broken(lost), only(Rule::Arrived));
        let strange = |seen: &mut Seen, _| {
            let event = Uuid::from_u128(3);
            seen.received.insert(event, 12);
            seen.effects.push(12);
            seen.handled.push(job(event));
        };
        assert_eq!(broken(strange), only(Rule::Arrived));
    }
}
