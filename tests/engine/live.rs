//! Live streams: committed events as they commit, and a word where some are missing.

mod commits;
mod ends;
mod feed;
mod gaps;
mod outage;
mod plan;
mod resume;
mod watch;
mod who;
