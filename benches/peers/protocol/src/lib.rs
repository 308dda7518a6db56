//! A contestant: a program that does one of four works with one library, and tells the conductor so.
//!
//! `<program> contest NAME publish|bulk|drain|latency --key value ..`, with the database in `DATABASE_URL`. It prepares, prints
//! `{"ready":{..}}`, waits for a line `go`, works, prints `{"done":{..}}`, and stays until its standard input is closed, so that
//! whoever started it can read what it used. What a work is, is the same for all and stands in [`works`]; what a library
//! does for it, is its implementation of [`Peer`].

mod arguments;
mod dialogue;
mod handled;
mod payload;
mod works;

use std::future::Future;
use std::ops::Range;
use std::process::ExitCode;

pub use anyhow::Result;

pub use crate::handled::handled;
pub use crate::payload::Payload;

/// How many transactions are open at once while events are published.
pub const PUBLISHERS: u32 = 8;

/// What one library does for the works, by its own API.
pub trait Peer: Sized + Send + Sync + 'static {
    /// The settings in one line, for the report.
    const SETTINGS: &'static str;
    /// The library's version.
    const VERSION: &'static str;

    /// Lays out the schema and opens the connections.
    fn prepare(database: &str) -> impl Future<Output = Result<Self>>;

    /// Brings the planner's statistics up to date, as autovacuum does in a database that is in use.
    fn analyze(&self) -> impl Future<Output = Result<()>>;

    /// One transaction: BEGIN, the enqueue of these jobs, COMMIT.
    fn publish(&self, jobs: Vec<Payload>) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues many jobs as fast as the library can.
    fn bulk(&self, numbers: Range<u64>) -> impl Future<Output = Result<()>>;

    /// Enqueues one job and returns when it is committed.
    fn enqueue(&self, job: Payload) -> impl Future<Output = Result<()>>;

    /// Starts the worker, which calls [`handled`] in the handler of each job and goes on until the process ends.
    fn work(&self) -> impl Future<Output = Result<()>>;

    /// How many jobs the database still holds as not completed.
    fn unfinished(&self) -> impl Future<Output = Result<i64>>;
}

/// The `main` of a contestant.
pub fn run<P: Peer>() -> ExitCode {
    match start::<P>() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start<P: Peer>() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(works::run::<P>(arguments::read()?));
    // The workers of some libraries have no end of their own.
    runtime.shutdown_background();
    outcome
}
