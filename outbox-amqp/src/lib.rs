#![doc = include_str!("../README.md")]
//!
//! # The files
//!
//! | | |
//! |---|---|
//! | `dial`, `certificates`, `pause` | a connection, for both directions |
//! | `amqp`, `builder`, `supervise`, `properties`, `answer` | out: a transport of the relay |
//! | `session`, `queue`, `group`, `tally` | out: many messages at once on a few channels, and which of them was stored |
//! | `source`, `source_builder`, `consume`, `incoming`, `acknowledge` | in: a source of the ingest |
//! | `legible`, `hop` | in: messages that the client cannot read |
//! | `topology` | exchanges and queues, for both |

mod acknowledge;
mod amqp;
mod answer;
mod builder;
mod certificates;
mod consume;
mod dial;
mod group;
mod hop;
mod incoming;
mod legible;
mod pause;
mod properties;
mod queue;
mod session;
mod source;
mod source_builder;
mod supervise;
mod tally;
mod topology;

pub use lapin;

pub use self::{
    amqp::Amqp,
    builder::{AmqpBuilder, AmqpError},
    source::AmqpSource,
    source_builder::AmqpSourceBuilder,
};
