//! The facade without the engine: what generated code names is the real one's, and no database driver is compiled.

#[path = "../../../../src/modules.rs"]
mod modules;

#[doc(hidden)]
#[path = "../../../../src/private.rs"]
pub mod __private;

pub use outbox_core::{Registry, TypeMap};

pub mod prelude {
    pub use outbox_core::{HandlerResult, IdempotencyKey};
    pub use outbox_macros::{event, job, subscriber};
}
