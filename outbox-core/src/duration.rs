//! Durations as users write them in attributes: a whole number and a unit, as in `"30s"`.

use std::time::Duration;

/// What a duration looks like, for messages.
pub const FORM: &str = "a whole number and `ms`, `s`, `m`, `h` or `d`, for example `30s`";

const DAY: u64 = 86_400_000;
/// A hundred years of 366 days, in milliseconds.
const LONGEST: u64 = 36_600 * DAY;

/// Why a text is no duration. The message follows the text that it is about, and says what to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoDuration {
    /// It has another form.
    #[error("is not a duration: write {FORM}")]
    Form,
    /// It is zero.
    #[error("is no time at all: the shortest duration is `1ms`")]
    Zero,
    /// It is longer than a hundred years.
    #[error("is too long: the longest duration is `36600d`, a hundred years")]
    TooLong,
}

/// Reads `"500ms"`, `"30s"`, `"5m"`, `"1h"` or `"2d"`.
///
/// # Errors
/// When the text has another form, is zero, or is longer than 36,600 days.
pub fn parse(text: &str) -> Result<Duration, NoDuration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis_each = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => DAY,
        _ => return Err(NoDuration::Form),
    };
    if number.is_empty() {
        return Err(NoDuration::Form);
    }
    // Digits alone can only be too many.
    let number: u64 = number.parse().map_err(|_| NoDuration::TooLong)?;
    match number.checked_mul(millis_each) {
        Some(0) => Err(NoDuration::Zero),
        Some(millis @ 1..=LONGEST) => Ok(Duration::from_millis(millis)),
        _ => Err(NoDuration::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(parse("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(parse("2d"), Ok(Duration::from_hours(48)));
        assert_eq!(parse("36600d"), Ok(Duration::from_hours(36_600 * 24)));
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["", "s", "ms", "30", "30 s", "-1s", "+1s", "1.5s", "1w", "1h30m", "30S", "30s ", "\u{663}s"] {
            assert_eq!(parse(bad), Err(NoDuration::Form), "{bad}");
        }
    }

    /// Zero and too much have the form that the message on a bad form asks for, so they have messages of their own.
    #[test]
    fn what_is_out_of_range_is_told_apart() {
        for zero in ["0s", "000ms"] {
            assert_eq!(parse(zero), Err(NoDuration::Zero), "{zero}");
        }
        for long in ["36601d", "999999999d", "18446744073709551615h", "99999999999999999999s"] {
            assert_eq!(parse(long), Err(NoDuration::TooLong), "{long}");
        }
        assert_eq!(NoDuration::Zero.to_string(), "is no time at all: the shortest duration is `1ms`");
    }

    const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", DAY)];

    /// The same language, said by looking from the end and counting in another way.
    fn by_the_book(text: &str) -> Option<u128> {
        let (number, each) = UNITS.iter().find_map(|(unit, each)| {
            let number = text.strip_suffix(unit)?;
            (!number.is_empty() && number.chars().all(|c| "0123456789".contains(c))).then_some((number, each))
        })?;
        let times =
            number.chars().fold(0_u128, |sum, c| sum.saturating_mul(10).saturating_add(c as u128 - '0' as u128));
        Some(times.saturating_mul(u128::from(*each)))
    }

    fn is_read_by_the_book(text: &str) -> Result<(), TestCaseError> {
        let expected = match by_the_book(text) {
            None => Err(NoDuration::Form),
            Some(0) => Err(NoDuration::Zero),
            Some(millis) if millis > 36_600 * 24 * 3_600_000 => Err(NoDuration::TooLong),
            Some(millis) => Ok(Duration::from_millis(u64::try_from(millis).expect("a hundred years"))),
        };
        prop_assert_eq!(parse(text), expected, "{}", text);
        Ok(())
    }

    proptest! {
        #[test]
        fn exactly_the_durations_are_read(text in "[0-9]{0,22}(ms|s|m|h|d)") {
            is_read_by_the_book(&text)?;
        }

        #[test]
        fn near_misses_are_judged_by_the_book(number in "[0-9]{0,3}", odd in "[-+ .,_0-9a-zA-Z\u{661}\u{b5}]{0,2}", unit in "ms|s|m|h|d|w|us|min|MS|") {
            is_read_by_the_book(&format!("{number}{odd}{unit}"))?;
            is_read_by_the_book(&format!("{odd}{number}{unit}"))?;
            is_read_by_the_book(&format!("{number}{unit}{odd}"))?;
        }

        #[test]
        fn any_text_is_judged(text in "\\PC{0,40}|.{0,40}") {
            is_read_by_the_book(&text)?;
        }

        /// What is written of a duration is that duration, in each unit that divides it.
        #[test]
        fn durations_round_trip(millis in 1..=LONGEST, unit in 0..UNITS.len()) {
            let (unit, each) = UNITS[unit];
            let times = (millis / each).max(1);
            prop_assert_eq!(parse(&format!("{times}{unit}")), Ok(Duration::from_millis(times * each)));
        }
    }
}
