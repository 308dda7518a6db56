//! How a service waits while it does not get through: longer each time, with one log line a step.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::Backoff;
use tokio_util::sync::CancellationToken;

use crate::error::told;
use crate::lane::LaneError;
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::vitals::Vitals;

/// The delays of one service, which its health tells of.
#[derive(Debug)]
pub(crate) struct Reconnect {
    service: &'static str,
    vitals: Arc<Vitals>,
    failures: u32,
    quiet: bool,
}

pub(crate) const POLICY: Backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_millis(1_500));

impl Reconnect {
    pub(crate) fn of(outbox: &Outbox, service: &'static str) -> Self {
        Self { service, vitals: Arc::clone(outbox.vitals()), failures: 0, quiet: false }
    }

    /// For a service of which another one tells that the database is away.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// All is well again.
    pub(crate) fn succeeded(&mut self) {
        if self.failures > 0 {
            self.failures = 0;
            self.vitals.well(self.service);
        }
    }

    /// Says so once, and waits as long as this failure asks for, or until `stop`.
    pub(crate) fn failed<'s>(
        &mut self,
        error: &LaneError,
        stop: &'s CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<'s> {
        self.failures = self.failures.saturating_add(1);
        let delay = POLICY.delay(self.failures, rand::random());
        let (service, failures, again_in, text) = (self.service, self.failures, format!("{delay:.1?}"), told(error));
        if self.quiet {
            tracing::debug!(service, failures, again_in, error = text, "{}", meaning(error.class()));
        } else {
            tracing::warn!(service, failures, again_in, error = text, "{}", meaning(error.class()));
        }
        self.vitals.failing(service, failures, text);
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(delay) => {}
            }
        }
    }
}

/// A service that has ended is in no trouble any more.
impl Drop for Reconnect {
    fn drop(&mut self) {
        self.succeeded();
    }
}

/// What an error of this class means to who reads the log.
pub(crate) fn meaning(class: Class) -> &'static str {
    match class {
        Class::Connection => "the database did not answer, trying again",
        Class::Conflict => "others changed the same rows at once, trying again",
        Class::Locked => "somebody holds a lock for long, trying again",
        Class::Setup => {
            "the tables are not there, or this role may not use them: run `outbox::migrate`, or look at its grants; trying again"
        }
        Class::Refused => "the database refuses this statement, trying again",
    }
}
