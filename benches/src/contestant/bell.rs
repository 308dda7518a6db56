//! An event whose handler says when it began.

use std::sync::OnceLock;
use std::time::Instant;

use outbox::Outbox;
use outbox::prelude::*;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

static HEARD: OnceLock<UnboundedSender<Heard>> = OnceLock::new();

/// Which one, and when its handler began.
pub(super) type Heard = (u64, Instant);

/// Somebody is at the door. About 200 bytes of JSON.
#[event("bell.rung")]
#[derive(Debug)]
pub(super) struct BellRung {
    #[subject]
    bell: u64,
    note: String,
}

impl BellRung {
    /// Each number gives one, always the same.
    pub(super) fn numbered(bell: u64) -> Self {
        Self { bell, note: format!("bell {bell:08}, {}", "as agreed; ".repeat(14)) }
    }
}

/// Stored name of its handler, and the module.
pub(super) const ANSWER: &str = "porch.answer";
pub(super) const PORCH: &str = "porch";

#[subscriber(event = "bell.rung", name = "porch.answer", idempotent = "it only says when it began")]
async fn answer(rung: BellRung) -> Result<(), std::convert::Infallible> {
    if let Some(heard) = HEARD.get() {
        // Nobody listens any more once the work is done.
        let _ = heard.send((rung.bell, Instant::now()));
    }
    Ok(())
}

/// From now on each start is told, once in a process.
pub(super) fn listen() -> anyhow::Result<UnboundedReceiver<Heard>> {
    let (sender, heard) = unbounded_channel();
    HEARD.set(sender).map_err(|_| anyhow::anyhow!("a contestant does one work"))?;
    Ok(heard)
}

/// One event in a transaction of its own; the moment at which the commit returned.
pub(super) async fn ring(outbox: &Outbox, bell: u64) -> anyhow::Result<Instant> {
    let mut tx = outbox.begin().await?;
    outbox.publish(&mut tx, &BellRung::numbered(bell)).await?;
    tx.commit().await?;
    Ok(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_about_two_hundred_bytes_of_json() {
        for number in [0, 99_999] {
            let json = serde_json::to_string(&BellRung::numbered(number)).unwrap();
            assert!((170..=240).contains(&json.len()), "{} bytes: {json}", json.len());
        }
    }

    #[test]
    fn the_name_is_that_of_the_handler_that_is_linked() {
        let registry = outbox::Registry::linked();
        let names: Vec<_> = registry.handlers_of("bell.rung").map(|handler| handler.name).collect();
        assert_eq!(names, [ANSWER]);
    }
}
