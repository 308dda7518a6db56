//! Waiting on a state.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long [`eventually`] waits before it gives up.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Asks again and again, without a fixed sleep, until `state` answers something.
///
/// # Panics
/// When [`DEADLINE`] has passed; the message says `what` was waited for.
pub async fn eventually<T>(what: &str, mut state: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = state().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {DEADLINE:?} in vain until {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
