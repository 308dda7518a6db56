//! `Retry-After`: seconds, or a date.

use std::time::{Duration, SystemTime};

/// Longest wait that a receiver is granted: nobody stops a webhook for a year.
pub(crate) const LONGEST: Duration = Duration::from_hours(24);

/// How long the receiver asks to be left alone, as RFC 9110 (10.2.3) has it, no longer than [`LONGEST`]. What is neither seconds nor a
/// date says nothing; a date that has passed says no time.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long time too.
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    /// Fri, 13 Feb 2009 23:31:30 GMT.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_234_567_890)
    }

    fn seconds(value: &str) -> Option<u64> {
        retry_after(value, now()).map(|delay| delay.as_secs())
    }

    #[test]
    fn seconds_and_dates_of_each_form_are_read() {
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("Fri, 13 Feb 2009 23:33:30 GMT"), Some(120));
        assert_eq!(seconds("Friday, 13-Feb-09 23:33:30 GMT"), Some(120));
        assert_eq!(seconds("Fri Feb 13 23:33:30 2009"), Some(120));
    }

    #[test]
    fn what_has_passed_is_no_time_and_what_is_far_away_is_a_day() {
        assert_eq!(seconds("Fri, 13 Feb 2009 23:31:29 GMT"), Some(0));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(86_400));
        assert_eq!(seconds("86401"), Some(86_400));
        assert_eq!(seconds("99999999999999999999999999"), Some(86_400));
    }

    #[test]
    fn what_is_neither_says_nothing() {
        for odd in ["", " ", "-1", "+5", "1.5", "1e3", "soon", "Fri, 13 Feb 2009", "١٢"] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in ".{0,40}|[0-9]{0,30}") {
            prop_assert!(retry_after(&text, now()).is_none_or(|delay| delay <= LONGEST));
        }

        #[test]
        fn dates_round_trip(ahead in 0..200_000_u64) {
            let date = httpdate::fmt_http_date(now() + Duration::from_secs(ahead));
            prop_assert_eq!(seconds(&date), Some(ahead.min(86_400)));
        }
    }
}
