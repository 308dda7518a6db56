//! How a handler says that it is to be run.

use std::time::Duration;

use outbox::prelude::*;
use outbox_core::{Backoff, Settings};

use crate::events::SaleMade;
use crate::support::handler;

#[subscriber(event = "sale.made", name = "settings.silent", idempotent = "does nothing")]
async fn silent(_: SaleMade) -> HandlerResult {
    Ok(())
}

#[subscriber(
    event = "sale.made",
    name = "settings.outspoken",
    aliases("settings.first", "settings.second"),
    idempotent = "does nothing",
    max_attempts = 3,
    backoff = exponential("30s", max = "1h"),
    timeout = "20s",
    priority = 0,
    concurrency = 2,
    unknown = park,
)]
async fn outspoken(_: SaleMade) -> HandlerResult {
    Ok(())
}

#[subscriber(event = "sale.made", name = "settings.steady", backoff = fixed("500ms"), idempotent = "does nothing")]
async fn steady(_: SaleMade) -> HandlerResult {
    Ok(())
}

#[test]
fn what_is_not_said_takes_its_default() {
    let handler = handler("settings.silent");
    assert_eq!(format!("{:?}", handler.settings), format!("{:?}", Settings::DEFAULT));
    assert!(handler.aliases.is_empty());
    assert_eq!(handler.idempotent, Some("does nothing"));
}

#[test]
fn what_is_said_is_registered() {
    let handler = handler("settings.outspoken");
    let Settings { max_attempts, backoff, timeout, priority, concurrency, batch, parks } = handler.settings;
    assert_eq!(max_attempts, 3);
    assert_eq!(backoff, Backoff::exponential(Duration::from_secs(30), Duration::from_hours(1)));
    assert_eq!(timeout, Duration::from_secs(20));
    assert_eq!(priority, 0);
    assert_eq!(concurrency, Some(2));
    assert_eq!(batch, None, "it takes one message");
    assert!(parks);
    assert_eq!(handler.aliases, ["settings.first", "settings.second"]);
    assert_eq!(handler.original_name(), "settings.first");
}

#[test]
fn a_delay_can_stay_the_same() {
    assert_eq!(handler("settings.steady").settings.backoff, Backoff::fixed(Duration::from_millis(500)));
}
