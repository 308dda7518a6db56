//! When a schedule is due: a cron line on the clocks of a zone, or whole multiples of a time.
//!
//! A function of its arguments, as everything here: what time it is, the database says.
//!
//! # When the clocks change
//!
//! A line without `*` among its seconds, minutes and hours names *times of day*. Each of them comes once a day: one that the clocks pass
//! over is due at the first moment behind the gap (two of them, once), and one that they show twice is due at the first of the two.
//!
//! Any other line *follows the clock on the wall*: what the clock passes over is not due, and what it shows twice is due both times. So
//! `*/15 * * * *` is due every fifteen minutes, whatever the clocks do, where they change by a multiple of them.
//!
//! Multiples of a time know no zone.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone as _, Timelike as _, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::duration::{self, NoDuration};
use crate::schedule::CatchUp;
use crate::text::closest;

/// The shortest time between two ticks.
pub const SHORTEST: Duration = Duration::from_secs(1);
/// A tick that is taken within this time was not missed.
pub const ON_TIME: TimeDelta = TimeDelta::minutes(1);

/// What a field of a cron line is called, and what it may hold.
struct Field {
    name: &'static str,
    allowed: &'static str,
    /// Beside digits and `*,-/`.
    letters: &'static str,
    /// Between a word and a number.
    marks: &'static [char],
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: [Field; 6] = [
    Field { name: "second", allowed: "0 to 59", letters: "", marks: &[], words: &[] },
    Field { name: "minute", allowed: "0 to 59", letters: "", marks: &[], words: &[] },
    Field { name: "hour", allowed: "0 to 23", letters: "", marks: &[], words: &[] },
    Field {
        name: "day of the month",
        allowed: "1 to 31, `L` for the last one, `15W` for the working day nearest to the 15th",
        letters: "LW",
        marks: &[],
        words: &[],
    },
    Field { name: "month", allowed: "1 to 12, or `JAN` to `DEC`", letters: "", marks: &[], words: &MONTHS },
    Field {
        name: "weekday",
        allowed: "0 to 7, of which 0 and 7 are Sunday, or `SUN` to `SAT`, `5L` for the last Friday, `1#2` for the second Monday",
        letters: "L",
        marks: &['#'],
        words: &WEEKDAYS,
    },
];

/// Why a text is no cron line. The message follows the text that it is about, and says what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCron {
    /// It has too many fields, or too few.
    #[error(
        "is no cron line: write minute, hour, day of the month, month and weekday, for example `0 3 * * *`; a field for the second may stand before them"
    )]
    Form,
    /// A field holds what it cannot.
    #[error("is no cron line: `{said}` is no {field} ({allowed}; also lists `1,2`, ranges `1-5` and steps `*/2`)")]
    Field {
        /// Which one.
        field: &'static str,
        /// What it holds.
        said: String,
        /// What it may hold.
        allowed: &'static str,
    },
    /// No date is meant by it.
    #[error("is never due: no month that it names has such a day")]
    Never,
}

/// Why a text is no zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no time zone: {}", match .meant { Some(meant) => format!("did you mean `{meant}`?"), None => "write its name in the IANA database, for example `Europe/Paris` or `UTC`".to_owned() })]
pub struct NoZone {
    /// The one that was probably meant.
    pub meant: Option<&'static str>,
}

/// Why stored texts are no timetable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTimetable {
    /// The cadence is no cron line.
    #[error(transparent)]
    Cron(#[from] NoCron),
    /// The cadence is no time.
    #[error(transparent)]
    Every(#[from] NoEvery),
    /// The zone is none.
    #[error(transparent)]
    Zone(#[from] NoZone),
}

/// Why a text is no time between two ticks. The message follows the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEvery {
    /// It is no duration.
    #[error(transparent)]
    Duration(#[from] NoDuration),
    /// It is shorter than a second.
    #[error("is too short: a schedule comes round once a second at most, so write `1s` or more")]
    TooShort,
}

/// A schedule's times.
#[derive(Debug, Clone)]
pub struct Timetable(Rule);

#[derive(Debug, Clone)]
enum Rule {
    /// In milliseconds.
    Every(i64),
    TimesOfDay(Box<Cron>, Tz),
    ClockOnTheWall(Box<Cron>, Tz),
}

/// The zone of this name.
///
/// # Errors
/// When there is none.
pub fn zone(name: &str) -> Result<Tz, NoZone> {
    name.parse().map_err(|_| {
        let names = || chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
        let city =
            || names().find(|known| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(name)));
        NoZone { meant: closest(name, names()).or_else(city) }
    })
}

impl Timetable {
    /// The times of a cron line in this zone.
    ///
    /// # Errors
    /// When it is none, or means no date at all.
    pub fn cron(line: &str, zone: Tz) -> Result<Self, NoCron> {
        let mut fields: Vec<&str> = line.split_whitespace().collect();
        if fields.len() == 5 {
            fields.insert(0, "0");
        }
        if fields.len() != FIELDS.len() {
            return Err(NoCron::Form);
        }
        for (place, said) in fields.iter().enumerate() {
            check_field(place, said)?;
        }
        let cron = Box::new(read(&fields).ok_or(NoCron::Form)?);
        let follows_the_clock = fields[..3].iter().any(|field| field.contains('*'));
        let rule = if follows_the_clock { Rule::ClockOnTheWall(cron, zone) } else { Rule::TimesOfDay(cron, zone) };
        let times = Self(rule);
        // Whether a date exists does not depend on the year to begin with.
        if times.next_after(DateTime::UNIX_EPOCH).is_none() { Err(NoCron::Never) } else { Ok(times) }
    }

    /// Each whole multiple of this time, as `5m`.
    ///
    /// # Errors
    /// When it is no duration, or too short.
    pub fn every(time: &str) -> Result<Self, NoEvery> {
        let time = duration::parse(time)?;
        if time < SHORTEST {
            return Err(NoEvery::TooShort);
        }
        Ok(Self(Rule::Every(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))))
    }

    /// What was stored of a [`Cadence`](crate::schedule::Cadence).
    ///
    /// # Errors
    /// When a later release has stored what this one cannot read.
    pub fn stored(cadence: &str, zone_name: &str) -> Result<Self, NoTimetable> {
        match cadence.strip_prefix("every ") {
            Some(time) => Ok(Self::every(time)?),
            None => Ok(Self::cron(cadence, zone(zone_name)?)?),
        }
    }

    /// The first tick behind `moment`. `None` when there is none before the year 5000.
    #[must_use]
    pub fn next_after(&self, moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match &self.0 {
            Rule::Every(millis) => {
                let next = moment.timestamp_millis().div_euclid(*millis).checked_add(1)?.checked_mul(*millis)?;
                DateTime::from_timestamp_millis(next)
            }
            Rule::TimesOfDay(cron, zone) => next_time_of_day(cron, *zone, moment),
            Rule::ClockOnTheWall(cron, zone) => {
                let here = zone.from_utc_datetime(&moment.naive_utc());
                cron.find_next_occurrence(&here, false).ok().map(|tick| tick.to_utc())
            }
        }
    }

    /// The newest tick behind `after` and up to `until`. Found by halves, so that a year of seconds costs as little as a minute.
    fn newest(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let is_before_one = |moment| self.next_after(moment).is_some_and(|next| next <= until);
        if !is_before_one(after) {
            return None;
        }
        let (mut before, mut behind) = (after, until);
        while behind - before > TimeDelta::milliseconds(1) {
            let middle = before + (behind - before) / 2;
            if is_before_one(middle) { before = middle } else { behind = middle }
        }
        self.next_after(before)
    }

    /// What is to be done at `now` about a schedule whose tick `due` nobody has taken yet.
    #[must_use]
    pub fn turn(&self, catch_up: CatchUp, due: DateTime<Utc>, now: DateTime<Utc>) -> Turn {
        if due > now {
            return Turn { take: Vec::new(), missed: false, next: Some(due) };
        }
        let newest = self.newest(due, now).unwrap_or(due);
        let mut take = match catch_up {
            CatchUp::Skip if now - newest > ON_TIME => Vec::new(),
            _ => vec![newest],
        };
        if let CatchUp::All(most) = catch_up {
            while take.len() < most as usize
                && let Some(oldest) = take.last().copied().filter(|oldest| *oldest > due)
            {
                take.push(self.newest(due, oldest - TimeDelta::milliseconds(1)).unwrap_or(due));
            }
            take.reverse();
        }
        let missed = take.first() != Some(&due);
        Turn { take, missed, next: self.next_after(now) }
    }
}

/// What is to be done about a schedule that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Ticks that get a job each, oldest first.
    pub take: Vec<DateTime<Utc>>,
    /// Whether others were passed over, or this one was.
    pub missed: bool,
    /// The tick behind now.
    pub next: Option<DateTime<Utc>>,
}

/// The parser takes more than is documented here, and names in any field, so what it is given is looked at first; then it judges each
/// field beside others that are right.
fn check_field(place: usize, said: &str) -> Result<(), NoCron> {
    let field = &FIELDS[place];
    let is_known = |word: &str| {
        let word = word.to_ascii_uppercase();
        field.words.contains(&word.as_str()) || word.chars().all(|c| c.is_ascii_digit() || field.letters.contains(c))
    };
    let mut fields = ["0", "0", "0", "*", "*", "*"];
    fields[place] = said;
    let has_steps_of =
        |part: &str| part.split('/').nth(1).is_none_or(|step| step.parse().is_ok_and(|step: u32| step > 0));
    let is_right = said.split([',', '-', '/', '*']).flat_map(|part| part.split(field.marks)).all(is_known)
        && said.split(',').all(|part| !part.is_empty() && has_steps_of(part))
        && read(&fields).is_some();
    if is_right {
        Ok(())
    } else {
        Err(NoCron::Field { field: field.name, said: said.to_owned(), allowed: field.allowed })
    }
}

fn read(fields: &[&str]) -> Option<Cron> {
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
    parser.parse(&fields.join(" ")).ok()
}

fn next_time_of_day(cron: &Cron, zone: Tz, moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let mut wall = zone.from_utc_datetime(&moment.naive_utc()).naive_local();
    loop {
        wall = cron.find_next_occurrence(&wall, false).ok()?;
        let tick = moment_of(zone, wall)?;
        // Where the clocks show the same hour again, its times are behind us although the wall has them ahead.
        if tick > moment {
            return Some(tick);
        }
    }
}

/// The first moment at which the clocks of `zone` show `wall`, or the first behind the gap in which they do not.
fn moment_of(zone: Tz, wall: NaiveDateTime) -> Option<DateTime<Utc>> {
    if let Some(moment) = zone.from_local_datetime(&wall).earliest() {
        return Some(moment.to_utc());
    }
    let minute = wall.with_second(0)?;
    // Clocks change at whole minutes, and by a day at most, where a country changed sides of the date line.
    (1..=26 * 60)
        .find_map(|minutes| zone.from_local_datetime(&(minute + TimeDelta::minutes(minutes))).earliest())
        .map(|moment| moment.to_utc())
}
