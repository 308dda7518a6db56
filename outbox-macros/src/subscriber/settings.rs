//! How the handler is to be run: what is said, checked.

use std::time::Duration;

use outbox_core::subscriber::LOWEST_PRIORITY;

use crate::errors::Errors;
use crate::subscriber::parse::{Args, BackoffArgs};
use crate::value::{self, MAX_INTEGER};

/// What is not said takes its default from `outbox_core::Settings::DEFAULT`.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) max_attempts: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) priority: Option<u8>,
    pub(crate) concurrency: Option<u32>,
}

pub(crate) enum Backoff {
    Exponential { base: Duration, max: Duration },
    Fixed { every: Duration },
}

pub(crate) fn check(args: &Args, errors: &mut Errors) -> Settings {
    let max_attempts = args.max_attempts.as_ref().and_then(|said| {
        value::whole(said, 1..=MAX_INTEGER, "`max_attempts` counts executions, so it is at least 1", errors)
    });
    let concurrency = args.concurrency.as_ref().and_then(|said| {
        let why =
            "`concurrency` counts executions at once, so it is at least 1; to stop a handler, retire its subscription";
        value::whole(said, 1..=MAX_INTEGER, why, errors)
    });
    let priority = args.priority.as_ref().and_then(|said| {
        let why = format!("`priority` is 0 (runs first) to {LOWEST_PRIORITY} (runs last)");
        value::whole(said, 0..=u32::from(LOWEST_PRIORITY), &why, errors)
    });
    Settings {
        max_attempts,
        backoff: args.backoff.as_ref().and_then(|said| backoff(said, errors)),
        timeout: args.timeout.as_ref().and_then(|said| value::time(said, errors)),
        priority: priority.and_then(|priority| u8::try_from(priority).ok()),
        concurrency,
    }
}

fn backoff(said: &BackoffArgs, errors: &mut Errors) -> Option<Backoff> {
    match said {
        BackoffArgs::Fixed { every } => value::time(every, errors).map(|every| Backoff::Fixed { every }),
        BackoffArgs::Exponential { base, max } => {
            let (first, longest) = (value::time(base, errors), value::time(max, errors));
            let (first, longest) = (first?, longest?);
            if longest < first {
                let text = format!("the longest delay is shorter than the first one, which is `{}`", base.value());
                errors.at(max.span(), text);
            }
            Some(Backoff::Exponential { base: first, max: longest })
        }
    }
}
