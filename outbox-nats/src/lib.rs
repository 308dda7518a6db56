#![doc = include_str!("../README.md")]

mod answer;
mod builder;
mod nats;
mod supervise;
mod topology;

pub use async_nats;

pub use self::{
    builder::{NatsBuilder, NatsError},
    nats::Nats,
    topology::{Topology, TopologyError},
};
