//! A worker: runs every handler until it is asked to end.

use super::{Opened, READY, starve};

#[allow(clippy::print_stdout, reason = "the conductor waits for this line")]
pub(super) async fn run(opened: &Opened) -> anyhow::Result<()> {
    let outbox = opened.outbox().await?;
    starve::start(opened)?;
    println!("{READY}");
    outbox.run(outbox::shutdown_signal()).await?;
    Ok(())
}
