//! The billing service on a real PostgreSQL, without a broker: a file a behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod books;
mod charge;
mod projection;
mod reconcile;
mod releases;
