//! The fault kit, against a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod crash;
mod failover;
mod names;
mod point;
mod process;
mod proxy;
mod session;
mod support;
mod worker;
