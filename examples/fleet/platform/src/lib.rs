//! What every service of the fleet has, whatever it does.
//!
//! - [`Broker`] and [`Inbox`]: the way to the other services and from them, RabbitMQ or NATS, as the URL says.
//! - [`Release`]: which versions of the contracts a build knows.
//! - [`Emit`] and [`trace`]: what is published goes on with the trace of the request, and is followed through every process.
//! - [`Common`]: what every service is told at its start, and when it ends.

mod broker;
mod emit;
mod inbox;
mod release;
mod service;
pub mod trace;

pub use broker::{Broker, PREFIX, relay};
pub use emit::Emit;
pub use inbox::{Inbox, ingest};
pub use release::{Release, registry};
pub use service::{Common, LEASE, asked_to_end, connect, loops};
