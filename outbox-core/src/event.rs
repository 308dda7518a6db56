//! Events: facts that happened, named in the past tense, published in the transaction that made them true.

use crate::envelope::Payload;
use crate::message::Message;
use crate::shape::Shape;
use crate::subscriber::Place;
use crate::version::ReadError;

/// A type marked `#[event("order.placed")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not a type marked `#[event(\"resource.what_happened\")]`",
    note = "write `#[event(\"order.placed\")]` above `{Self}`, or use the type of an event here"
)]
pub trait Event: Message {
    /// The service that alone may publish it; `None`: any.
    const OWNER: Option<&'static str> = None;

    /// The field marked `#[subject]`, as text: which order, which customer.
    fn subject_id(&self) -> Option<String>;
}

/// What may be marked `#[subject]`: anything that shows itself as text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the subject of an event",
    label = "a subject is stored as text, so its type must implement `Display`",
    note = "implement `std::fmt::Display` for `{Self}`, or mark another field"
)]
pub trait SubjectId {
    /// The text that is stored.
    fn subject_id(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: std::fmt::Display + ?Sized> SubjectId for T {
    fn subject_id(&self) -> String {
        self.to_string()
    }
}

/// What `#[event]` registers.
#[derive(Debug)]
pub struct EventDescriptor {
    /// Stored name.
    pub name: &'static str,
    /// Version of the payload's shape.
    pub version: u32,
    /// The version as which it is stored: an earlier one while `also_as` says so.
    pub stored_version: u32,
    /// The versions that it is read from, its own first.
    pub versions: &'static [u32],
    /// Whether a payload of one of these versions is read as it.
    pub check: fn(u32, &Payload) -> Result<(), ReadError>,
    /// The names of its fields on the wire.
    pub shape: fn() -> Shape,
    /// The Rust type, for people.
    pub rust_type: fn() -> &'static str,
    /// Where it is declared.
    pub place: Place,
}

inventory::collect!(EventDescriptor);
