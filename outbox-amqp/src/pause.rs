//! How long the broker is left alone between two attempts to connect.

use std::time::Duration;

use tokio::time::Instant;

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Twice as long each time, and short again behind a connection that stood for longer than the longest one: one that is lost as soon as it
/// stands is no reason to hurry.
#[derive(Debug)]
pub(crate) struct Pause {
    next: Duration,
    began: Instant,
}

impl Pause {
    pub(crate) fn new() -> Self {
        Self { next: SHORTEST, began: Instant::now() }
    }

    /// A connection stands.
    pub(crate) fn connected(&mut self) {
        self.began = Instant::now();
    }

    /// How long to wait behind the end of a connection that stood, or behind an attempt in vain.
    pub(crate) fn next(&mut self, stood: bool) -> Duration {
        if stood && self.began.elapsed() > LONGEST {
            self.next = SHORTEST;
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_that_do_not_stand_are_asked_for_ever_more_seldom() {
        let mut pause = Pause::new();
        for _ in 0..10 {
            pause.connected();
            pause.next(true);
        }
        assert_eq!(pause.next(false), LONGEST);
        pause.connected();
        tokio::time::advance(LONGEST * 2).await;
        assert_eq!(pause.next(true), SHORTEST);
    }
}
