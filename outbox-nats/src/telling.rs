//! What goes on being wrong is told of at once, and again ever more rarely.

use std::time::Duration;

use tokio::time::Instant;

/// How long the first line stands before it is said again; twice as long each time.
const FIRST: Duration = Duration::from_secs(5);
/// And at most so long.
const LONGEST: Duration = Duration::from_mins(5);

/// What is wrong, and when it is to be told of again.
#[derive(Debug, Default)]
pub(crate) struct Telling(Option<Told>);

#[derive(Debug)]
struct Told {
    what: String,
    again: Instant,
    pause: Duration,
}

impl Telling {
    /// Whether this is to be told of now. What is new always is.
    pub(crate) fn is_due(&mut self, what: &str, now: Instant) -> bool {
        let pause = match &self.0 {
            Some(told) if told.what != what => FIRST,
            Some(told) if now < told.again => return false,
            Some(told) => (told.pause * 2).min(LONGEST),
            None => FIRST,
        };
        self.0 = Some(Told { what: what.to_owned(), again: now + pause, pause });
        true
    }

    /// It is well again: what is wrong next is new.
    pub(crate) fn ended(&mut self) {
        self.0 = None;
    }
}

/// How long something that is not as it should be is left alone: first a second, then twice as long each time, at most ten seconds.
#[derive(Debug, Default)]
pub(crate) struct Pauses(u32);

impl Pauses {
    pub(crate) fn next(&mut self) -> Duration {
        let pause = Duration::from_secs(1 << self.0.min(4)).min(Duration::from_secs(10));
        self.0 = self.0.saturating_add(1);
        pause
    }

    /// It was as it should be.
    pub(crate) fn ended(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O15: an hour of one error, looked at each ten seconds, is some lines and not hundreds; another error, and the same one behind a good
    /// time, is told of at once.
    #[test]
    fn what_goes_on_is_told_of_ever_more_rarely() {
        let (mut telling, begin) = (Telling::default(), Instant::now());
        let at = |second: u64| begin + Duration::from_secs(second);
        let told = (0..360).filter(|look| telling.is_due("the stream is not there", at(look * 10))).count();
        assert!((10..=20).contains(&told), "{told}");
        assert!(telling.is_due("the server does not answer", at(3_600)));
        assert!(!telling.is_due("the server does not answer", at(3_601)));
        telling.ended();
        assert!(telling.is_due("the server does not answer", at(3_602)));
    }

    #[test]
    fn pauses_grow_and_begin_anew() {
        let mut pauses = Pauses::default();
        let seconds: Vec<_> = (0..6).map(|_| pauses.next().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 10, 10]);
        pauses.ended();
        assert_eq!(pauses.next(), Duration::from_secs(1));
    }
}
