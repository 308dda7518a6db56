//! When it is worth looking for dead rows, and when a vacuum is worth its while.

use std::time::{Duration, Instant};

use crate::step::vacuum::Look;

/// How many outcomes of this process make a look worth a statement.
const LOOK_AFTER: u64 = 10_000;
/// A table that is always busy a little is looked at from time to time.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// From here on dead rows cost the claim more than the vacuum does.
const LEAST_DEAD: i64 = 50_000;
/// One reads every index as a whole: with many live rows it takes more dead ones to be worth that.
const LIVE_PER_DEAD: i64 = 20;
/// How long to wait behind a vacuum that could not remove anything, because an old snapshot still sees it.
const LEAST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// What this process knows of the dead rows.
#[derive(Debug)]
pub(crate) struct DeadRows {
    looked_at: u64,
    looked: Option<Instant>,
    pause: Option<(Instant, Duration)>,
}

impl DeadRows {
    pub(crate) const fn new() -> Self {
        Self { looked_at: 0, looked: None, pause: None }
    }

    /// Whether to look, when this process has written `outcomes` so far.
    pub(crate) fn look_now(&mut self, outcomes: u64, now: Instant) -> bool {
        let fresh = outcomes.saturating_sub(self.looked_at);
        let long_ago = self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK_EVERY);
        let due = fresh >= LOOK_AFTER || (fresh > 0 && long_ago);
        let waits = self.pause.is_some_and(|(until, _)| now < until);
        if !due || waits {
            return false;
        }
        (self.looked_at, self.looked) = (outcomes, Some(now));
        true
    }

    /// Whether a vacuum is worth its while.
    pub(crate) fn worth(look: Look) -> bool {
        !look.under_way && look.dead >= LEAST_DEAD.max(look.live / LIVE_PER_DEAD)
    }

    /// A vacuum has ended: those that it left are still seen by somebody, or died meanwhile.
    pub(crate) fn vacuumed(&mut self, before: Look, after: Look, now: Instant) {
        let in_vain = after.vacuums > before.vacuums && after.dead >= before.dead;
        self.pause = in_vain.then(|| {
            let pause = self.pause.map_or(LEAST_PAUSE, |(_, pause)| (pause * 2).min(LONGEST_PAUSE));
            (now + pause, pause)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Look = Look { dead: 60_000, live: 100_000, vacuums: 1, under_way: false, allowed: true };

    #[test]
    fn an_idle_process_never_looks_and_a_busy_one_by_what_it_has_settled() {
        let now = Instant::now();
        let mut rows = DeadRows::new();
        assert!(!rows.look_now(0, now + Duration::from_hours(1)));
        assert!(rows.look_now(1, now), "who knows what others have left");
        assert!(!rows.look_now(LOOK_AFTER, now));
        assert!(rows.look_now(LOOK_AFTER + 1, now));
        assert!(!rows.look_now(LOOK_AFTER + 2, now));
        assert!(rows.look_now(LOOK_AFTER + 2, now + LOOK_EVERY), "a few now and then add up");
    }

    #[test]
    fn a_vacuum_is_worth_it_from_fifty_thousand_on_and_a_twentieth_of_what_is_live() {
        assert!(DeadRows::worth(SOME));
        assert!(!DeadRows::worth(Look { dead: LEAST_DEAD - 1, ..SOME }));
        assert!(!DeadRows::worth(Look { live: 2_000_000, ..SOME }));
        assert!(!DeadRows::worth(Look { under_way: true, ..SOME }));
    }

    #[test]
    fn a_vacuum_in_vain_is_tried_again_later_each_time_and_one_that_helped_at_once() {
        let now = Instant::now();
        let mut rows = DeadRows::new();
        let in_vain = Look { vacuums: 2, ..SOME };
        let mut outcomes = 0;
        let mut busy = |rows: &mut DeadRows, now| {
            outcomes += LOOK_AFTER;
            rows.look_now(outcomes, now)
        };
        rows.vacuumed(SOME, in_vain, now);
        assert!(!busy(&mut rows, now + LEAST_PAUSE / 2));
        assert!(busy(&mut rows, now + LEAST_PAUSE));
        rows.vacuumed(SOME, in_vain, now);
        assert!(!busy(&mut rows, now + LEAST_PAUSE), "twice as long");
        (0..20).for_each(|_| rows.vacuumed(SOME, in_vain, now));
        assert!(busy(&mut rows, now + LONGEST_PAUSE));
        rows.vacuumed(SOME, Look { dead: 1_000, ..in_vain }, now);
        assert!(busy(&mut rows, now));
    }

    #[test]
    fn a_vacuum_that_did_not_take_place_was_not_in_vain() {
        let now = Instant::now();
        let mut rows = DeadRows::new();
        rows.vacuumed(SOME, SOME, now);
        assert!(rows.look_now(LOOK_AFTER, now));
    }
}
