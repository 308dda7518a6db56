#![doc = include_str!("../README.md")]

#[allow(dead_code, reason = "what acknowledges follows")]
mod delivery;
mod source;

pub use outbox_relay::{Link, LinkStatus};

pub use self::{
    delivery::{Acknowledge, Delivery},
    source::Source,
};
