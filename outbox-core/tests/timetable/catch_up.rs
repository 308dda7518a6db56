//! What is done about ticks that nobody took in time.

use chrono::{DateTime, TimeDelta, Utc};
use outbox_core::schedule::CatchUp;
use outbox_core::timetable::{Timetable, Turn};
use proptest::prelude::*;

use crate::{at, cron};

fn hourly() -> Timetable {
    cron("0 * * * *", "UTC")
}

fn taken(turn: &Turn) -> Vec<String> {
    turn.take.iter().map(|tick| tick.format("%H:%M").to_string()).collect()
}

#[test]
fn a_tick_that_is_not_due_is_left() {
    let due = at("2026-07-01T10:00:00Z");
    let turn = hourly().turn(CatchUp::All(9), due, at("2026-07-01T09:59:59.999Z"));
    assert_eq!(turn, Turn { take: vec![], missed: false, next: Some(due) });
}

/// Q15: taken a few milliseconds behind its second, a tick is the one of that second, and the next one is the next.
#[test]
fn a_tick_in_time_is_taken_by_each_policy() {
    for catch_up in [CatchUp::Skip, CatchUp::Latest, CatchUp::All(5)] {
        let turn =
            Timetable::every("1s").unwrap().turn(catch_up, at("2026-07-01T10:00:00Z"), at("2026-07-01T10:00:00.998Z"));
        assert_eq!(
            turn,
            Turn { take: vec![at("2026-07-01T10:00:00Z")], missed: false, next: Some(at("2026-07-01T10:00:01Z")) }
        );
    }
}

/// S0-39: after a night without workers the policy says what is run, and in every case it goes on with the next tick.
#[test]
fn missed_ticks_are_caught_up_as_the_policy_says() {
    let (due, now) = (at("2026-07-01T02:00:00Z"), at("2026-07-01T06:30:00Z"));
    let turn = |catch_up| hourly().turn(catch_up, due, now);
    let next = Some(at("2026-07-01T07:00:00Z"));
    let skip = turn(CatchUp::Skip);
    assert_eq!((taken(&skip), skip.missed, skip.next), (vec![], true, next));
    let latest = turn(CatchUp::Latest);
    assert_eq!((taken(&latest), latest.missed, latest.next), (vec!["06:00".to_owned()], true, next));
    let three = turn(CatchUp::All(3));
    assert_eq!((taken(&three).join(" "), three.missed, three.next), ("04:00 05:00 06:00".to_owned(), true, next));
    let all = turn(CatchUp::All(9));
    assert_eq!(
        (taken(&all).join(" "), all.missed, all.next),
        ("02:00 03:00 04:00 05:00 06:00".to_owned(), false, next)
    );
}

/// A tick that stood under a line that is no longer there is still due.
#[test]
fn a_tick_of_an_earlier_line_is_taken() {
    let due = at("2026-07-01T06:17:00Z");
    let turn = hourly().turn(CatchUp::Latest, due, at("2026-07-01T06:30:00Z"));
    assert_eq!((turn.take, turn.missed, turn.next), (vec![due], false, Some(at("2026-07-01T07:00:00Z"))));
}

/// A month of seconds is looked through as quickly as an hour of them.
#[test]
fn a_long_absence_costs_no_walk_through_its_ticks() {
    let due = at("2026-01-01T00:00:00Z");
    let turn = Timetable::every("1s").unwrap().turn(CatchUp::All(100), due, due + TimeDelta::days(3_650));
    assert_eq!((turn.take.len(), turn.take[99]), (100, due + TimeDelta::days(3_650)));
    assert_eq!(turn.take[0], due + TimeDelta::days(3_650) - TimeDelta::seconds(99));
}

fn lines() -> impl Strategy<Value = Timetable> {
    prop_oneof![
        Just(("*/7 * * * *", "America/New_York")),
        Just(("0 3 * * *", "Europe/Paris")),
        Just(("30 1,2 * * *", "America/Santiago")),
        Just(("*/20 0-3 * * SUN", "Australia/Lord_Howe")),
        Just(("5,10 4 29 2 *", "UTC")),
    ]
    .prop_map(|(line, zone)| cron(line, zone))
    .boxed()
    .prop_union((1..100_000_u64).prop_map(|seconds| Timetable::every(&format!("{seconds}s")).unwrap()).boxed())
}

fn moments() -> impl Strategy<Value = DateTime<Utc>> {
    (1_767_225_600_000..1_861_920_000_000_i64).prop_map(|millis| DateTime::from_timestamp_millis(millis).unwrap())
}

proptest! {
    /// What a policy takes is what walking from tick to tick comes by.
    #[test]
    fn a_turn_is_what_a_walk_comes_to(times in lines(), from in moments(), ticks in 0..40_u32, part in 0.0..1.0_f64, most in 1..20_u32) {
        let due = times.next_after(from).unwrap();
        let mut walked = vec![due];
        for _ in 0..ticks {
            walked.push(times.next_after(*walked.last().unwrap()).unwrap());
        }
        let last = *walked.last().unwrap();
        let next = times.next_after(last).unwrap();
        prop_assert!(walked.windows(2).all(|pair| pair[0] < pair[1]) && last < next);
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "somewhere between the two")]
        let now = last + TimeDelta::milliseconds(((next - last).num_milliseconds() as f64 * part) as i64);
        let turn = times.turn(CatchUp::All(most), due, now);
        let from = walked.len().saturating_sub(most as usize);
        prop_assert_eq!(&turn.take, &walked[from..]);
        prop_assert_eq!((turn.missed, turn.next), (from > 0, Some(next)));
        let latest = times.turn(CatchUp::Latest, due, now);
        prop_assert_eq!((latest.take, latest.next), (vec![last], Some(next)));
        let skip = times.turn(CatchUp::Skip, due, now);
        prop_assert_eq!((skip.take.is_empty(), skip.next), (now - last > TimeDelta::minutes(1), Some(next)));
    }
}
