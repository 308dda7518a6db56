//! The play, with a real NATS.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod interrupted;
mod play;
