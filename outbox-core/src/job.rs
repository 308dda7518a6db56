//! Jobs declared by themselves: commands for exactly one handler, enqueued in a transaction, not caused by an event.

use std::time::Duration;

use crate::message::Message;
use crate::shape::Shape;
use crate::subscriber::Place;

/// A type marked `#[job("notifications.send_email")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job",
    label = "not a type marked `#[job(\"module.name\")]`",
    note = "write `#[job(\"notifications.send_email\")]` above `{Self}`; an event is published, not enqueued"
)]
pub trait Job: Message {
    /// How long behind its due time it may still be begun, unless its enqueue says otherwise; `None`: for ever.
    const EXPIRES: Option<Duration> = None;
}

/// What `#[job]` registers.
#[derive(Debug)]
pub struct JobDescriptor {
    /// Stored name, which is also its handler's.
    pub name: &'static str,
    /// Version of the payload's shape.
    pub version: u32,
    /// The names of its fields on the wire.
    pub shape: fn() -> Shape,
    /// The Rust type, for people.
    pub rust_type: fn() -> &'static str,
    /// Where it is declared.
    pub place: Place,
}

inventory::collect!(JobDescriptor);
