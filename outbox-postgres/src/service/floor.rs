//! Where claims begin: at the head of their ranges, as long as that is cheap.
//!
//! Finished jobs leave dead rows behind at the head of the claim's index. While somebody holds an old snapshot they cannot be
//! removed, and a claim from the head passes over all of them each time. So, when a claim was slow for what it brought, a *look*
//! measures what the head costs, apart from the claims; and while that is much, claims begin at a floor: where the look saw the first
//! waiting job of the range, else the margin before the look.
//!
//! A job can appear below a floor: its transaction committed late, or a worker gave it back with the time that it had. The next look
//! finds it. Looks take a small share of the time, and floors end by themselves when no look comes, so nothing waits without a bound.
//!
//! Here are the rules alone: what happened goes in, with the moment, and comes out as what to do.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::step::look::Seen;

/// How far before a look its floor is: a transaction that publishes and commits within this time is not passed over.
pub(crate) const MARGIN: Duration = Duration::from_secs(2);
/// How many priorities a range has.
pub(crate) const PRIORITIES: usize = 4;

/// What a claim or a look takes that passes over nothing: this, so much for each job that it brings, so much for each range and priority.
const QUICK: Duration = Duration::from_millis(5);
const A_JOB: Duration = Duration::from_micros(50);
const A_PROBE: Duration = Duration::from_micros(10);
/// Between two looks: at least this, and so many times what the last one took.
const PAUSE: Duration = Duration::from_secs(1);
const SHARE: u32 = 20;
/// What a look may be late before claims begin at the head again, beside a second pause.
const PATIENCE: Duration = Duration::from_secs(2);

/// The floors of a worker, shared by who claims and who looks.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    state: Mutex<State>,
    /// A look has become due earlier.
    suspected: Notify,
}

impl Floor {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole before the next line, so a panic leaves nothing half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a claim of these ranges begins, by their numbers.
    pub(crate) fn of(&self, ranges: &[usize]) -> Begin {
        self.state().of(Instant::now(), ranges)
    }

    /// A claim came to its end; `drained` are ranges of which it brought all that it found.
    pub(crate) fn claimed(&self, begin: &Begin, took: Duration, jobs: usize, drained: &[usize]) {
        if self.state().claimed(begin, took, jobs, drained) {
            self.suspected.notify_one();
        }
    }

    /// A claim did not end in time.
    pub(crate) fn timed_out(&self) {
        self.state().suspected = true;
        self.suspected.notify_one();
    }

    /// When the next look is due; `None`: not before one is suspected to be of use.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.state().due(Instant::now())
    }

    pub(crate) async fn until_suspected(&self) {
        self.suspected.notified().await;
    }

    /// Answers whether a claim should follow.
    pub(crate) fn looked(&self, seen: Seen) -> bool {
        self.state().looked(Instant::now(), seen)
    }

    pub(crate) fn look_failed(&self, took: Duration) {
        self.state().look_failed(Instant::now(), took);
    }

    /// Whether claims begin at floors now.
    pub(crate) fn stands(&self) -> bool {
        self.state().standing.is_some()
    }
}

/// Where one claim begins.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Begin {
    /// Which look it goes by.
    look: u64,
    /// For each range and priority in seconds of the server's clock; empty: at the head.
    pub(crate) floors: Vec<f64>,
}

#[derive(Debug, Default)]
struct State {
    suspected: bool,
    /// The next look comes not before.
    not_before: Option<Instant>,
    standing: Option<Standing>,
    looks: u64,
}

#[derive(Debug)]
struct Standing {
    low: Vec<Option<f64>>,
    high: f64,
    until: Instant,
}

impl State {
    fn of(&self, now: Instant, ranges: &[usize]) -> Begin {
        let standing = self.standing.as_ref().filter(|standing| now < standing.until);
        let floors = standing.map_or_else(Vec::new, |standing| {
            let places = ranges.iter().flat_map(|range| places(*range));
            places.map(|place| standing.low[place].unwrap_or(standing.high)).collect()
        });
        Begin { look: self.looks, floors }
    }

    /// Answers whether a look has become due by it.
    fn claimed(&mut self, begin: &Begin, took: Duration, jobs: usize, drained: &[usize]) -> bool {
        // A claim that went by an earlier look did not see what this one saw.
        if begin.look == self.looks
            && let Some(standing) = &mut self.standing
        {
            drained.iter().flat_map(|range| places(*range)).for_each(|place| standing.low[place] = None);
        }
        let slow = took > QUICK + A_JOB.saturating_mul(u32::try_from(jobs).unwrap_or(u32::MAX));
        let news = slow && !self.suspected && self.standing.is_none();
        self.suspected |= slow;
        news
    }

    fn due(&self, now: Instant) -> Option<Instant> {
        (self.suspected || self.standing.is_some()).then(|| self.not_before.unwrap_or(now))
    }

    fn looked(&mut self, now: Instant, seen: Seen) -> bool {
        let pause = pause(seen.took);
        let probes = u32::try_from(seen.low.len()).unwrap_or(u32::MAX);
        let quick = QUICK + A_PROBE.saturating_mul(probes);
        let stood = self.standing.is_some();
        let costly = if stood { seen.took >= quick / 2 } else { seen.took >= quick };
        let below = seen.low.iter().any(Option::is_some);
        self.suspected = false;
        self.looks += 1;
        self.not_before = Some(now + pause);
        let until = now + pause * 2 + PATIENCE;
        self.standing = costly.then_some(Standing { low: seen.low, high: seen.high, until });
        // What stands below the floors until now, nobody else tells of.
        stood && below
    }

    fn look_failed(&mut self, now: Instant, took: Duration) {
        self.not_before = Some(now + pause(took));
    }
}

fn pause(took: Duration) -> Duration {
    PAUSE.max(took.saturating_mul(SHARE))
}

/// Where the priorities of a range stand.
fn places(range: usize) -> std::ops::Range<usize> {
    range * PRIORITIES..(range + 1) * PRIORITIES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHEAP: Duration = Duration::from_micros(100);
    const COSTLY: Duration = Duration::from_millis(100);

    /// A look at two ranges, of which nothing waits but what `low` says.
    fn seen(took: Duration, low: &[(usize, f64)]) -> Seen {
        let mut places = vec![None; 2 * PRIORITIES];
        for (place, time) in low {
            places[*place] = Some(*time);
        }
        Seen { low: places, high: 1_000.0, took }
    }

    fn begun(state: &State, now: Instant) -> Vec<f64> {
        state.of(now, &[0, 1]).floors
    }

    #[test]
    fn quick_claims_begin_at_the_head_and_nobody_looks() {
        let (mut state, now) = (State::default(), Instant::now());
        for jobs in [0, 1, 500] {
            assert!(!state.claimed(&state.of(now, &[0]), Duration::from_millis(4), jobs, &[0]));
        }
        assert!(
            !state.claimed(&state.of(now, &[0]), Duration::from_millis(29), 500, &[]),
            "half a millisecond for ten"
        );
        assert_eq!((state.due(now), begun(&state, now)), (None, Vec::new()));
    }

    #[test]
    fn a_slow_claim_makes_a_look_due_and_the_look_decides() {
        let (mut state, now) = (State::default(), Instant::now());
        assert!(state.claimed(&state.of(now, &[0]), Duration::from_millis(6), 0, &[]));
        assert_eq!(state.due(now), Some(now));
        assert!(!state.looked(now, seen(CHEAP, &[])), "it was the network, or the machine");
        assert_eq!((state.due(now), begun(&state, now)), (None, Vec::new()));
        state.claimed(&state.of(now, &[0]), Duration::from_millis(6), 0, &[]);
        assert_eq!(state.due(now), Some(now + PAUSE), "not at once again");
        state.looked(now + PAUSE, seen(COSTLY, &[]));
        assert_eq!(begun(&state, now + PAUSE), vec![1_000.0; 8]);
    }

    #[test]
    fn a_claim_begins_at_the_first_job_that_waits_until_a_claim_has_drained_the_range() {
        let (mut state, now) = (State::default(), Instant::now());
        state.looked(now, seen(COSTLY, &[(5, 7.0)]));
        let begin = state.of(now, &[1]);
        assert_eq!(begin.floors, [1_000.0, 7.0, 1_000.0, 1_000.0]);
        state.claimed(&begin, CHEAP, 10, &[0]);
        assert_eq!(begun(&state, now)[5..6], [7.0], "another range was drained");
        state.claimed(&begin, CHEAP, 1, &[1]);
        assert_eq!(begun(&state, now)[5..6], [1_000.0]);
    }

    #[test]
    fn a_claim_that_went_by_an_earlier_look_drains_nothing() {
        let (mut state, now) = (State::default(), Instant::now());
        state.looked(now, seen(COSTLY, &[]));
        let begin = state.of(now, &[0, 1]);
        assert!(state.looked(now, seen(COSTLY, &[(0, 7.0)])), "somebody has to claim what was found");
        state.claimed(&begin, CHEAP, 0, &[0, 1]);
        assert_eq!(begun(&state, now)[..1], [7.0]);
    }

    #[test]
    fn a_cheap_look_ends_the_floors() {
        let (mut state, now) = (State::default(), Instant::now());
        state.looked(now, seen(COSTLY, &[]));
        assert!(state.looked(now, seen(CHEAP, &[(0, 7.0)])));
        assert_eq!((state.due(now), begun(&state, now)), (None, Vec::new()));
    }

    #[test]
    fn without_looks_the_floors_end_by_themselves() {
        let (mut state, now) = (State::default(), Instant::now());
        state.looked(now, seen(COSTLY, &[]));
        let before = now + COSTLY * SHARE * 2;
        let until = before + PATIENCE;
        assert!(!begun(&state, before).is_empty());
        state.look_failed(before, Duration::from_secs(10));
        assert!(begun(&state, until).is_empty());
        assert_eq!(state.due(until), Some(before + Duration::from_secs(200)));
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// A claim of the one range, which begins so many milliseconds later; whether it is slow, and whether its look was overtaken.
        Claim { later: u64, slow: bool },
        /// A look comes through so many milliseconds behind its time and takes so long; or it fails.
        Look { late: u64, took: u64, fails: bool },
        /// A job appears, with a time so many seconds back.
        Appear { back: u32 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..400_u64, any::<bool>()).prop_map(|(later, slow)| Step::Claim { later, slow }),
            2 => (0..5_000_u64, 0..400_u64, any::<bool>()).prop_map(|(late, took, fails)| Step::Look { late, took, fails }),
            2 => (0..100_u32).prop_map(|back| Step::Appear { back }),
        ]
    }

    proptest! {
        /// Whatever is slow, late or fails: a job that waits is reached by a claim of its range at the latest at the first claim behind
        /// twice the pause and the patience, because floors last no longer. And looks take no more than their share of the time.
        #[test]
        fn no_job_waits_below_the_floor_without_a_bound(steps in proptest::collection::vec(step(), 1..200)) {
            let start = Instant::now();
            let (mut state, mut now) = (State::default(), start);
            let clock = |now: Instant| 1_000.0 + now.duration_since(start).as_secs_f64();
            // Time of the job, and since when it is there.
            let mut waiting: Vec<(f64, Instant)> = Vec::new();
            let mut looking = Duration::ZERO;
            let mut longest = Duration::ZERO;
            for step in steps {
                match step {
                    Step::Appear { back } => waiting.push((clock(now) - f64::from(back), now)),
                    Step::Claim { later, slow } => {
                        now += Duration::from_millis(later);
                        let begin = state.of(now, &[0]);
                        let floor = begin.floors.first().copied().unwrap_or(f64::NEG_INFINITY);
                        waiting.retain(|(time, _)| *time < floor);
                        let bound = longest.max(PAUSE) * 2 + PATIENCE;
                        for (time, since) in &waiting {
                            prop_assert!(now.duration_since(*since) < bound, "{} waits below {}", time, floor);
                        }
                        let took = if slow { COSTLY } else { CHEAP };
                        state.claimed(&begin, took, 0, &[0]);
                    }
                    Step::Look { late, took, fails } => {
                        let Some(due) = state.due(now) else { continue };
                        let took = Duration::from_millis(took);
                        now = now.max(due) + Duration::from_millis(late);
                        looking += took;
                        longest = longest.max(pause(took));
                        if fails {
                            state.look_failed(now, took);
                        } else {
                            let high = clock(now) - MARGIN.as_secs_f64();
                            let first = waiting.iter().map(|(time, _)| *time).fold(f64::INFINITY, f64::min);
                            let mut low = vec![None; PRIORITIES];
                            low[0] = (first < high).then_some(first);
                            state.looked(now, Seen { low, high, took });
                        }
                        let share = now.duration_since(start) / SHARE + Duration::from_millis(400);
                        prop_assert!(looking <= share, "{:?} of {:?}", looking, now.duration_since(start));
                    }
                }
            }
        }
    }
}
