//! What events and jobs share: a stored name, a version and a JSON form.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Which attribute made a type a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `#[event]`: a fact, for every subscriber.
    Event,
    /// `#[job]`: a command, for exactly one handler.
    Job,
}

/// Which versions of a payload a handler can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// Any: it takes the envelope and decodes for itself. Stored as version 0.
    Any,
    /// These only. Jobs of other versions wait, uncharged, for a binary that knows them.
    Only(&'static [u32]),
}

/// A type marked `#[event]` or `#[job]`. Implemented by these attributes, never by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an event nor a job",
    label = "not a type marked `#[event(\"resource.what_happened\")]` or `#[job(\"module.name\")]`",
    note = "write `#[event(\"order.placed\")]` above `{Self}`"
)]
pub trait Message: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stored name.
    const NAME: &'static str;
    /// The version of the payload's shape.
    const VERSION: u32;
    /// Fact or command.
    const KIND: Kind;
}
