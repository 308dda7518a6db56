//! What events and jobs share: a stored name, a version and a JSON form.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::text::Text;
use crate::version::{Downcast, Upcast};
use crate::wire_name;

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

    /// How it is made from the version before, where `upcast_from` says which that is.
    const UPCAST: Option<Upcast<Self>> = None;
    /// How it is written as an earlier version, where `also_as` says which.
    const DOWNCAST: Option<Downcast<Self>> = None;
    /// The versions that it is read from, its own first.
    const VERSIONS: &'static [u32] = &[Self::VERSION];
    /// Where [`WIRE_NAME`](Self::WIRE_NAME) is kept.
    #[doc(hidden)]
    const WIRE_TEXT: &'static Text = &wire_name::text_of(Self::NAME, Self::VERSION);
    /// Name and version as one text: `policy.created.v2`.
    const WIRE_NAME: &'static str = Self::WIRE_TEXT.as_str();
}
