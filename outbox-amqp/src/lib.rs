#![doc = include_str!("../README.md")]

mod amqp;
mod answer;
mod builder;
mod properties;
mod session;
mod supervise;
mod topology;

pub use lapin;

pub use self::{
    amqp::Amqp,
    builder::{AmqpBuilder, AmqpError},
};
