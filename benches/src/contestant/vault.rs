//! An event whose handler holds its job for as long as its process lives, or says that it began.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use outbox::prelude::*;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

static BEGUN: OnceLock<UnboundedSender<Instant>> = OnceLock::new();
static HELD: OnceLock<()> = OnceLock::new();

/// A vault was opened.
#[event("vault.opened")]
#[derive(Debug)]
pub(super) struct VaultOpened {
    #[subject]
    pub(super) vault: u64,
}

/// Module of its handler.
pub(super) const VAULT: &str = "vault";

#[subscriber(event = "vault.opened", name = "vault.guard", idempotent = "it only says when it began", timeout = "1h")]
async fn guard(_: VaultOpened) -> Result<(), std::convert::Infallible> {
    if let Some(begun) = BEGUN.get() {
        // Nobody listens any more once the work is done.
        let _ = begun.send(Instant::now());
    }
    while HELD.get().is_some() {
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    Ok(())
}

/// From now on each start is told, once in a process.
pub(super) fn listen() -> anyhow::Result<UnboundedReceiver<Instant>> {
    let (sender, begun) = unbounded_channel();
    BEGUN.set(sender).map_err(|_| anyhow::anyhow!("a contestant does one work"))?;
    Ok(begun)
}

/// From now on no job of this process ends.
pub(super) fn hold() {
    HELD.get_or_init(|| ());
}
