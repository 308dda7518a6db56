//! What `#[event]` and `#[job]` share: a type with a stored name, a version and a JSON form.

pub(crate) mod expand;
pub(crate) mod model;
pub(crate) mod parse;
mod serde;
mod versions;
