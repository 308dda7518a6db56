//! Publishing, in the trace of what publishes.

use outbox::{Event, Publish as _, PublishError, Published};
use sqlx::PgConnection;
use tracing::Instrument as _;

use crate::trace;

/// Publishes with the trace of here: whatever follows, in whichever process, hangs below this publish.
pub trait Emit: Event {
    /// As [`publish`](outbox::Publish::publish), in the caller's transaction.
    ///
    /// # Errors
    /// When it is not published. Nothing may be committed then.
    fn emit(&self, tx: &mut PgConnection) -> impl Future<Output = Result<Published, PublishError>> + Send;
}

impl<E: Event + Sync> Emit for E {
    fn emit(&self, tx: &mut PgConnection) -> impl Future<Output = Result<Published, PublishError>> + Send {
        let publishing = async move {
            match trace::here() {
                Some(traceparent) => self.publish(tx).trace(traceparent, None).await,
                None => self.publish(tx).await,
            }
        };
        publishing.instrument(tracing::info_span!("publish", event = E::WIRE_NAME))
    }
}
