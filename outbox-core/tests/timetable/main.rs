//! When schedules are due, held against a search that looks at every minute of three years.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod catch_up;
mod language;
mod zones;

use chrono::{DateTime, Utc};
use outbox_core::timetable::{Timetable, zone};

fn cron(line: &str, zone_name: &str) -> Timetable {
    Timetable::cron(line, zone(zone_name).unwrap()).unwrap_or_else(|error| panic!("`{line}` {error}"))
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The first `count` ticks behind a moment.
fn ticks(times: &Timetable, behind: &str, count: usize) -> Vec<String> {
    let next = |moment: &DateTime<Utc>| times.next_after(*moment);
    std::iter::successors(Some(at(behind)), next)
        .skip(1)
        .take(count)
        .map(|tick| tick.format("%m-%d %H:%M:%S").to_string())
        .collect()
}
