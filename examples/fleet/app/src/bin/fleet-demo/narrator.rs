//! What the person at the terminal sees while it runs.

use std::time::{Duration, Instant};

/// How often it is said that something is waited for.
const AGAIN: Duration = Duration::from_secs(10);

/// Tells what happens: on the standard output, or on the standard error where that belongs to the JSON.
#[derive(Debug)]
pub(crate) struct Narrator {
    json: bool,
    began: Instant,
}

impl Narrator {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, began: Instant::now() }
    }

    /// Something for everybody.
    pub(crate) fn say(&self, text: &str) {
        if self.json {
            eprintln!("{text}");
        } else {
            println!("{text}");
        }
    }

    /// Something that happens now.
    pub(crate) fn tell(&self, text: &str) {
        self.say(&format!("{:>6.1} s  {text}", self.began.elapsed().as_secs_f64()));
    }

    /// Waits for what takes long on a busy machine, and says so again and again.
    pub(crate) async fn while_waiting<T>(&self, what: &str, doing: impl Future<Output = T>) -> T {
        self.while_waiting_by(AGAIN, what, doing, |line| self.tell(line)).await
    }

    async fn while_waiting_by<T>(
        &self,
        again: Duration,
        what: &str,
        doing: impl Future<Output = T>,
        tell: impl Fn(&str),
    ) -> T {
        let began = Instant::now();
        let mut doing = std::pin::pin!(doing);
        loop {
            match tokio::time::timeout(again, &mut doing).await {
                Ok(done) => return done,
                Err(_) => tell(&format!("still waiting, for {:.0} s now: {what}", began.elapsed().as_secs_f64())),
            }
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// What takes long is told of while it lasts; what is there soon is not.
    #[tokio::test]
    async fn a_long_wait_is_told_of_while_it_lasts() {
        let (narrator, told, enough) = (Narrator::new(true), RefCell::new(Vec::new()), tokio::sync::Notify::new());
        let tell = |line: &str| {
            told.borrow_mut().push(line.to_owned());
            if told.borrow().len() == 3 {
                enough.notify_one();
            }
        };
        let soon = narrator.while_waiting_by(AGAIN, "until the broker listens", async { 7 }, tell).await;
        assert_eq!((soon, told.borrow().len()), (7, 0));
        let again = Duration::from_millis(1);
        narrator.while_waiting_by(again, "until the broker listens", enough.notified(), tell).await;
        let told = told.borrow();
        assert!(told.len() >= 3 && told.iter().all(|line| line.contains("until the broker listens")), "{told:?}");
    }
}
