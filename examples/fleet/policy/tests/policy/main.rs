//! The policy service on a real PostgreSQL, over HTTP, without a broker: a file a behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod commands;
mod desk;
mod refused;
mod versions;
mod wiring;
