//! How the engine waits while the database is away: longer each time, with one log line a step.

use std::time::Duration;

use outbox_core::Backoff;
use tokio_util::sync::CancellationToken;

use crate::error::told;

/// The delays of one service.
#[derive(Debug, Default)]
pub(crate) struct Reconnect {
    failures: u32,
}

const POLICY: Backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(2));

impl Reconnect {
    /// All is well again.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Says so once, and waits as long as this failure asks for, or until `stop`.
    pub(crate) fn failed<'s>(
        &mut self,
        service: &'static str,
        error: &(dyn std::error::Error + 'static),
        stop: &'s CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<'s> {
        self.failures = self.failures.saturating_add(1);
        let delay = POLICY.delay(self.failures, rand::random());
        let (error, again_in) = (told(error), format!("{delay:.1?}"));
        tracing::warn!(service, failures = self.failures, again_in, error, "the database did not answer, trying again");
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(delay) => {}
            }
        }
    }
}
