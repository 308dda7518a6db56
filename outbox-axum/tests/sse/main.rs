//! Live streams over HTTP: a real server, real sockets, and a client that reads bytes.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod client;
mod crowd;
mod ends;
mod frames;
mod members;
mod project;
mod resume;
