//! What the services of the fleet tell each other: facts, each published by its owner alone, and what the authority answers when it is asked.
//!
//! The producer owns the shape. A field that is added is no new version; what is incompatible is one, and both run until no
//! consumer of the earlier is left: see [`PolicyCreatedV2`].

mod invoice;
mod money;
mod policy;
mod state;

pub use invoice::InvoiceIssued;
pub use money::Money;
pub use policy::{PolicyAmended, PolicyCancelled, PolicyCreated, PolicyCreatedV1, PolicyCreatedV2};
pub use state::{PolicyState, Status};
