//! Which texts are cron lines, times and zones, and what is said about the others.

use outbox_core::timetable::{NoCron, Timetable, zone};
use proptest::prelude::*;

use crate::{at, ticks};

fn judge(line: &str) -> Result<Timetable, NoCron> {
    Timetable::cron(line, zone("UTC").unwrap())
}

fn said(line: &str) -> String {
    judge(line).map(drop).expect_err(line).to_string()
}

#[test]
fn lines_are_read() {
    let first = |line: &str, count| {
        ticks(&judge(line).unwrap_or_else(|error| panic!("`{line}` {error}")), "2026-01-01T00:00:00Z", count).join(", ")
    };
    assert_eq!(first("0 3 * * *", 2), "01-01 03:00:00, 01-02 03:00:00");
    assert_eq!(first("*/10 * * * * *", 2), "01-01 00:00:10, 01-01 00:00:20");
    assert_eq!(first("0 9 * * MON-FRI", 3), "01-01 09:00:00, 01-02 09:00:00, 01-05 09:00:00");
    assert_eq!(first("0 9 * * 7", 1), first("0 9 * * sun", 1));
    assert_eq!(first("0 0 L * *", 2), "01-31 00:00:00, 02-28 00:00:00");
    assert_eq!(first("0 0 * * 5L", 1), "01-30 00:00:00");
    assert_eq!(first("0 0 * * MON#2", 1), "01-12 00:00:00");
    assert_eq!(first("0 0 15W * *", 2), "01-15 00:00:00, 02-16 00:00:00");
    assert_eq!(first("0 0 1 jan,JUL *", 2), "07-01 00:00:00, 01-01 00:00:00");
    // A day of the month beside a weekday: either.
    assert_eq!(first("0 0 13 * FRI", 3), "01-02 00:00:00, 01-09 00:00:00, 01-13 00:00:00");
    assert_eq!(first("5-20/5 6 * * *", 4), "01-01 06:05:00, 01-01 06:10:00, 01-01 06:15:00, 01-01 06:20:00");
    assert_eq!(first("  0\t3  *  * * ", 1), "01-01 03:00:00");
}

#[test]
fn a_wrong_field_is_named() {
    assert!(said("0 25 * * *").starts_with("is no cron line: `25` is no hour (0 to 23;"), "{}", said("0 25 * * *"));
    for (line, field) in [
        ("60 * * * *", "`60` is no minute"),
        ("61 0 * * * *", "`61` is no second"),
        ("0 MON * * *", "`MON` is no hour"),
        ("0 0 32 * *", "`32` is no day of the month"),
        ("0 0 0 * *", "`0` is no day of the month"),
        ("0 0 1 13 *", "`13` is no month"),
        ("0 0 1 FEBR *", "`FEBR` is no month"),
        ("0 0 * * 8", "`8` is no weekday"),
        ("0 0 * * MO", "`MO` is no weekday"),
        ("*/0 * * * *", "`*/0` is no minute"),
        ("5- * * * *", "`5-` is no minute"),
        (", * * * *", "`,` is no minute"),
        ("20-10 * * * *", "`20-10` is no minute"),
        ("0 0 ? * *", "`?` is no day of the month"),
        ("0 0 * * +1", "`+1` is no weekday"),
    ] {
        assert!(said(line).contains(field), "{line}: {}", said(line));
    }
}

#[test]
fn another_form_is_told_what_to_write() {
    for line in ["", "0 3 * *", "0 0 3 * * * 2026", "@daily", "every day", "3am"] {
        assert!(said(line).starts_with("is no cron line: write minute, hour"), "{line}: {}", said(line));
    }
}

/// A date that no year has is found before anybody waits for it.
#[test]
fn an_impossible_date_is_never_due() {
    for line in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 FEB *"] {
        assert_eq!(judge(line).map(drop), Err(NoCron::Never), "{line}");
    }
    // In a leap year it is there; and a Monday in February is always.
    assert!(judge("0 0 29 2 *").is_ok() && judge("0 0 30 2 MON").is_ok());
}

#[test]
fn zones_are_known_by_their_names() {
    assert!(zone("Europe/Paris").is_ok() && zone("UTC").is_ok());
    for (said, meant) in [
        ("Europe/Pari", "Europe/Paris"),
        ("paris", "Europe/Paris"),
        ("europe/paris", "Europe/Paris"),
        ("New_York", "America/New_York"),
    ] {
        assert_eq!(zone(said).expect_err(said).meant, Some(meant));
    }
    assert_eq!(
        zone("Mars/Olympus_Mons").unwrap_err().to_string(),
        "is no time zone: write its name in the IANA database, for example `Europe/Paris` or `UTC`"
    );
}

#[test]
fn times_between_ticks_are_a_second_at_least() {
    assert!(Timetable::every("1s").is_ok() && Timetable::every("1500ms").is_ok());
    assert!(Timetable::every("999ms").unwrap_err().to_string().contains("once a second at most"));
    assert!(Timetable::every("5 minutes").unwrap_err().to_string().contains("is not a duration"));
}

#[test]
fn stored_texts_are_read_back() {
    for (cadence, zone, next) in
        [("every 5m", "UTC", "2026-01-01T00:05:00Z"), ("0 3 * * *", "Europe/Paris", "2026-01-01T02:00:00Z")]
    {
        let times = Timetable::stored(cadence, zone).unwrap();
        assert_eq!(times.next_after(at("2026-01-01T00:00:00Z")), Some(at(next)));
    }
    for (cadence, zone) in [("sometimes", "UTC"), ("every now and then", "UTC"), ("0 3 * * *", "Moon/Base")] {
        assert!(Timetable::stored(cadence, zone).is_err(), "{cadence}");
    }
}

/// A field of numbers by the book: a list of `*`, numbers and ranges of them, each with a step behind it or not.
fn minute_by_the_book(field: &str) -> Option<[bool; 60]> {
    let mut set = [false; 60];
    for part in field.split(',') {
        let (range, step) =
            part.split_once('/').map_or((part, Some(1)), |(range, step)| (range, step.parse::<usize>().ok()));
        let (low, high) = match range.split_once('-') {
            // Beside others it would say all that they say.
            _ if part == "*" && field != "*" => return None,
            _ if range == "*" => (0, 59),
            Some((low, high)) => (low.parse().ok()?, high.parse().ok()?),
            None if part.contains('/') => return None,
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        let step = step.filter(|step| *step > 0)?;
        if low > high || high > 59 {
            return None;
        }
        (low..=high).step_by(step).for_each(|minute: usize| set[minute] = true);
    }
    Some(set)
}

proptest! {
    /// A minute is read as by the book, or refused as by the book.
    #[test]
    fn minutes_are_read_by_the_book(field in "(\\*|[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2})(/[0-9]{1,2})?(,([0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2}(/[0-9])?)){0,2}") {
        let times = judge(&format!("{field} * * * *"));
        match minute_by_the_book(&field) {
            Some(set) => {
                let times = times.unwrap_or_else(|error| panic!("`{field}` {error}"));
                let mut found = [false; 60];
                let mut tick = at("2026-01-01T00:59:59Z");
                loop {
                    tick = times.next_after(tick).unwrap();
                    if tick >= at("2026-01-01T02:00:00Z") { break }
                    found[chrono::Timelike::minute(&tick) as usize] = true;
                }
                prop_assert_eq!(found.to_vec(), set.to_vec(), "{}", field);
            }
            None => prop_assert!(times.is_err(), "{}", field),
        }
    }

    /// Whatever the text is, it is judged, and a tick of it lies behind where the search began.
    #[test]
    fn any_text_is_judged(text in "([0-9*,/LW#?+-]{1,5} ){4,5}[0-9A-Za-z*#L-]{1,4}|\\PC{0,30}|.{0,30}", place in 0..4_usize) {
        let name = ["UTC", "Europe/Paris", "America/Santiago", "Australia/Lord_Howe"][place];
        if let Ok(times) = Timetable::cron(&text, zone(name).unwrap()) {
            let begin = at("2026-03-08T06:59:59.998Z");
            prop_assert!(times.next_after(begin).is_some_and(|tick| tick > begin));
        }
        let _ = (zone(&text), Timetable::every(&text));
    }
}
