//! Six zones over three years: two that change in spring and autumn, one by half an hour, one at midnight, one back and forth around
//! Ramadan, and one not at all.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone as _, Timelike as _, Utc};
use chrono_tz::Tz;

use crate::{at, cron, ticks};

const ZONES: [&str; 6] = [
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kolkata",
];

/// What each minute of 2026 to 2028 shows on the wall, straight from the offsets of the zone.
fn minutes(zone: Tz) -> Vec<(DateTime<Utc>, NaiveDateTime)> {
    let (mut moment, end) = (at("2026-01-01T00:00:00Z"), at("2029-01-01T00:00:00Z"));
    let mut all = Vec::with_capacity(1_600_000);
    while moment < end {
        all.push((moment, zone.from_utc_datetime(&moment.naive_utc()).naive_local()));
        moment += TimeDelta::minutes(1);
    }
    all
}

/// Every tick of those three years by the timetable itself, from tick to tick.
fn said(line: &str, zone: &str) -> Vec<DateTime<Utc>> {
    let (times, end) = (cron(line, zone), at("2029-01-01T00:00:00Z"));
    // A minute of the first day may be one.
    let before = at("2025-12-31T23:59:59Z");
    std::iter::successors(times.next_after(before), |tick| times.next_after(*tick))
        .take_while(|tick| *tick < end)
        .collect()
}

type Shows = fn(&NaiveDateTime) -> bool;

/// Lines that follow the clock on the wall, and which minutes they mean.
const CLOCK: [(&str, Shows); 6] = [
    ("*/15 * * * *", |wall| wall.minute() % 15 == 0),
    ("30 * * * *", |wall| wall.minute() == 30),
    ("*/20 0-3 * * *", |wall| wall.minute() % 20 == 0 && wall.hour() <= 3),
    ("* 2 * * *", |wall| wall.hour() == 2),
    ("7 */2 * * *", |wall| wall.minute() == 7 && wall.hour() % 2 == 0),
    ("*/30 1-2 * * SUN", |wall| {
        chrono::Datelike::weekday(wall) == chrono::Weekday::Sun
            && wall.minute() % 30 == 0
            && (1..=2).contains(&wall.hour())
    }),
];

/// B17, Q35: a line with `*` among its times is due at exactly those minutes that show its time on the wall: none in a gap, both of those
/// that are shown twice, in order, and no drift behind either.
#[test]
fn a_line_that_follows_the_clock_is_due_whenever_the_wall_shows_it() {
    for name in ZONES {
        let minutes = minutes(name.parse().unwrap());
        for (line, shows) in CLOCK {
            let expected: Vec<_> = minutes.iter().filter(|(_, wall)| shows(wall)).map(|(moment, _)| *moment).collect();
            let said = said(line, name);
            let differs = said.iter().zip(&expected).position(|(said, expected)| said != expected);
            assert!(
                differs.is_none() && said.len() == expected.len(),
                "{line} in {name}: {} of {}, {:?}",
                said.len(),
                expected.len(),
                differs.map(|place| (said[place], expected[place]))
            );
        }
    }
}

/// Times of day, and the times themselves.
const TIMES: [(&str, &[(u32, u32)]); 7] = [
    ("0 3 * * *", &[(3, 0)]),
    ("30 2 * * *", &[(2, 30)]),
    ("59 1 * * *", &[(1, 59)]),
    ("15 0 * * *", &[(0, 15)]),
    ("0 0 * * *", &[(0, 0)]),
    ("30 1,13 * * *", &[(1, 30), (13, 30)]),
    ("0,45 2-3 * * *", &[(2, 0), (2, 45), (3, 0), (3, 45)]),
];

/// Q35, B17, S0-39, S1-57: a time of day comes once on each day of three years: at the first minute that shows it, or, where the clocks
/// pass it over, at the first one that shows a later time.
#[test]
fn a_time_of_day_comes_once_a_day() {
    for name in ZONES {
        let minutes = minutes(name.parse().unwrap());
        // The first minute that shows each time, and the first one of each day's rest.
        let mut first: BTreeMap<NaiveDateTime, DateTime<Utc>> = BTreeMap::new();
        for (moment, wall) in &minutes {
            first.entry(*wall).or_insert(*moment);
        }
        let (begin, end) = (minutes[0].1, minutes[minutes.len() - 1].1);
        for (line, times) in TIMES {
            let mut expected = Vec::new();
            let mut day = begin.date();
            while day <= end.date() {
                for (hour, minute) in times {
                    let wall = day.and_hms_opt(*hour, *minute, 0).unwrap();
                    if wall >= begin && wall <= end {
                        expected.extend(first.range(wall..).next().map(|(_, moment)| *moment));
                    }
                }
                day = day.succ_opt().unwrap();
            }
            // Two that fall into one gap are due once.
            expected.dedup();
            assert_eq!(said(line, name), expected, "{line} in {name}");
        }
    }
}

/// Known days, by hand. Q35: `59 1 * * *` in New York is due once a day, and on the days of both changes at exactly these instants.
#[test]
fn the_days_of_the_changes_are_as_written_down() {
    let new_york = |line| cron(line, "America/New_York");
    // 2026-03-08: 02:00 becomes 03:00, at 07:00 UTC.
    assert_eq!(
        ticks(&new_york("30 2 * * *"), "2026-03-07T00:00:00Z", 3),
        ["03-07 07:30:00", "03-08 07:00:00", "03-09 06:30:00"]
    );
    assert_eq!(
        ticks(&new_york("*/30 1-3 * * *"), "2026-03-08T05:30:00Z", 4),
        ["03-08 06:00:00", "03-08 06:30:00", "03-08 07:00:00", "03-08 07:30:00"]
    );
    assert_eq!(ticks(&new_york("59 1 * * *"), "2026-03-07T12:00:00Z", 2), ["03-08 06:59:00", "03-09 05:59:00"]);
    // 2026-11-01: 02:00 becomes 01:00, at 06:00 UTC.
    assert_eq!(ticks(&new_york("59 1 * * *"), "2026-10-31T12:00:00Z", 2), ["11-01 05:59:00", "11-02 06:59:00"]);
    assert_eq!(
        ticks(&new_york("*/30 1 * * *"), "2026-11-01T04:00:00Z", 5),
        ["11-01 05:00:00", "11-01 05:30:00", "11-01 06:00:00", "11-01 06:30:00", "11-02 06:00:00"]
    );
    // From within the hour that comes again, also between two ticks.
    assert_eq!(ticks(&new_york("59 1 * * *"), "2026-11-01T06:30:00.5Z", 1), ["11-02 06:59:00"]);
    assert_eq!(ticks(&new_york("*/30 1 * * *"), "2026-11-01T05:45:00.998Z", 2), ["11-01 06:00:00", "11-01 06:30:00"]);
    // Paris, 2026-03-29 at 01:00 UTC, and back on 2026-10-25 at 01:00 UTC.
    let paris = |line| cron(line, "Europe/Paris");
    assert_eq!(
        ticks(&paris("0 3 * * *"), "2026-03-28T00:00:00Z", 3),
        ["03-28 02:00:00", "03-29 01:00:00", "03-30 01:00:00"]
    );
    assert_eq!(
        ticks(&paris("0 3 * * *"), "2026-10-24T00:00:00Z", 3),
        ["10-24 01:00:00", "10-25 02:00:00", "10-26 02:00:00"]
    );
    assert_eq!(ticks(&paris("0 0 29 2 *"), "2026-01-01T00:00:00Z", 1), ["02-28 23:00:00"]);
    // Lord Howe changes by half an hour: 2026-10-04, 02:00 becomes 02:30, at 15:30 UTC of the day before.
    assert_eq!(
        ticks(&cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00:00Z", 2),
        ["10-03 15:30:00", "10-04 15:15:00"]
    );
    // Santiago at midnight: 2026-09-06, 00:00 becomes 01:00, at 04:00 UTC.
    assert_eq!(
        ticks(&cron("0 0 * * *", "America/Santiago"), "2026-09-05T05:00:00Z", 2),
        ["09-06 04:00:00", "09-07 03:00:00"]
    );
}

/// A time between two ticks knows no zone: its ticks are that far apart over every change.
#[test]
fn every_comes_round_whatever_the_clocks_do() {
    for (every, millis) in [("1s", 1_000), ("1500ms", 1_500), ("5m", 300_000), ("7h", 25_200_000), ("1d", 86_400_000)] {
        let times = outbox_core::timetable::Timetable::every(every).unwrap();
        for around in
            ["2026-03-08T06:59:59.998Z", "2026-03-29T00:58:00Z", "2026-10-25T00:59:59.5Z", "2028-12-31T23:59:59.999Z"]
        {
            let mut last = times.next_after(at(around)).unwrap();
            assert!(last > at(around) && last - at(around) <= TimeDelta::milliseconds(millis));
            for _ in 0..1_000 {
                let next = times.next_after(last).unwrap();
                assert_eq!((next - last).num_milliseconds(), millis, "{every} behind {last}");
                assert_eq!(next.timestamp_millis() % millis, 0);
                last = next;
            }
        }
    }
}
