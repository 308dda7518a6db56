//! The page, in real browsers: `cargo xtask test --browser`.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod board;
mod driver;
mod restart;
mod stage;
