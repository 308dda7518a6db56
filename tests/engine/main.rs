//! The engine on a real PostgreSQL, one file a behaviour, a schema a test.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]

mod backfill_race;
mod claim;
mod publish;
mod support;
