//! What became of a message, told to the broker over the channel by which it came.

use lapin::Acker;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use outbox::BoxError;
use outbox_ingest::Acknowledge;
use tokio::runtime::Handle;

/// Speaks once at most. One that was not used gives the message back when it is dropped: the broker would wait for a word of it for as long as
/// the channel is open, and it would take one of the places of the prefetch.
pub(crate) struct Acknowledgement {
    acker: Acker,
}

/// The channel is gone by which it could be told.
#[derive(Debug, thiserror::Error)]
#[error("the connection over which the message came is lost, so the broker delivers it again")]
struct Gone;

impl Acknowledgement {
    pub(crate) fn new(acker: Acker) -> Self {
        Self { acker }
    }
}

impl Acknowledge for Acknowledgement {
    async fn acknowledge(self) -> Result<(), BoxError> {
        said(self.acker.ack(BasicAckOptions::default()).await)
    }

    async fn give_back(self) -> Result<(), BoxError> {
        said(give_back(&self.acker).await)
    }
}

async fn give_back(acker: &Acker) -> lapin::Result<bool> {
    acker.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await
}

fn said(answer: lapin::Result<bool>) -> Result<(), BoxError> {
    match answer {
        Ok(true) => Ok(()),
        Ok(false) => Err(Gone.into()),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Acknowledgement {
    fn drop(&mut self) {
        if self.acker.usable()
            && let Ok(runtime) = Handle::try_current()
        {
            let acker = self.acker.clone();
            // When it fails the channel is gone, and the broker has it back already.
            runtime.spawn(async move { drop(give_back(&acker).await) });
        }
    }
}
