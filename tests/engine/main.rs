//! The engine on a real PostgreSQL, one file a behaviour, a schema a test.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod alone;
mod backfill;
mod backfill_race;
mod build;
mod catalogue;
mod claim;
mod conformance;
mod crash;
mod database;
mod decode;
mod dedupe;
mod enqueue;
mod fleet;
mod floor;
mod half_open;
mod health;
mod lease;
mod linkage;
mod logs;
mod migrate;
mod migrator;
mod payload;
mod poison;
mod pooler;
mod process;
mod proxy;
mod publish;
mod publish_all;
mod recover;
mod redrive;
mod registry;
mod rescue;
mod restart;
mod restored;
mod retry;
mod roles;
mod run;
mod scope;
mod secrets;
mod services;
mod settle;
mod shutdown;
mod slots;
mod sql;
mod statements;
mod storage;
mod support;
mod timeout;
mod tomorrow;
mod transaction;
mod ulid;
mod wake;
mod wire;
