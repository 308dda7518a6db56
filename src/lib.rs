//! facade

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod modules;

pub use outbox_core::{
    Attempt, BoxError, Delivery, Envelope, Event, EventId, Failure, FromDelivery, Guard, HandlerResult, IdempotencyKey,
    Job, JobId, Metadata, Registry, Requirements, State, Subject,
};
pub use outbox_macros::{event, job, subscriber};

/// x
pub mod prelude {
    pub use crate::{Attempt, Envelope, Event, Failure, HandlerResult, IdempotencyKey, State, event, job, subscriber};
}
