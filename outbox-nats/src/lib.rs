#![doc = include_str!("../README.md")]

mod answer;
mod builder;
mod certificates;
mod headers;
mod inquiry;
mod nats;
mod servers;
mod source;
mod supervise;
mod telling;
mod topology;

pub use async_nats;

pub use self::{
    builder::{NatsBuilder, NatsError},
    nats::Nats,
    source::{ConsumerError, NatsSource, NatsSourceBuilder},
    topology::{Topology, TopologyError},
};
