#![doc = include_str!("../README.md")]
//!
//! # The files
//!
//! | | |
//! |---|---|
//! | `dial`, `certificates`, `pause` | a connection, for both directions |
//! | `amqp`, `builder`, `supervise`, `session`, `properties`, `answer` | out: a transport of the relay |
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
mod hop;
mod incoming;
mod legible;
mod pause;
mod properties;
mod session;
mod source;
mod source_builder;
mod supervise;
mod topology;

pub use lapin;

pub use self::{
    amqp::Amqp,
    builder::{AmqpBuilder, AmqpError},
    source::AmqpSource,
    source_builder::AmqpSourceBuilder,
};
