//! Durations as users write them in attributes: a whole number and a unit, as in `"30s"`.

use std::time::Duration;

/// What a duration looks like, for messages.
pub const FORM: &str = "a whole number and `ms`, `s`, `m`, `h` or `d`, for example `30s`";

/// Reads `"500ms"`, `"30s"`, `"5m"`, `"1h"` or `"2d"`.
///
/// Answers `None` when the text has another form, is zero, or is longer than a hundred years.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis_each: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(millis_each)?;
    (1..=100 * 366 * 86_400_000).contains(&millis).then(|| Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("30s"), Some(Duration::from_secs(30)));
        assert_eq!(parse("5m"), Some(Duration::from_mins(5)));
        assert_eq!(parse("1h"), Some(Duration::from_hours(1)));
        assert_eq!(parse("2d"), Some(Duration::from_hours(48)));
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["", "s", "30", "30 s", "-1s", "1.5s", "0s", "1w", "1h30m", "99999999999999999999s", "999999999d"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
