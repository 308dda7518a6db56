//! Test help for `outbox`.
//!
//! - [`server`]: a throwaway PostgreSQL, found on this machine or obtained, gone with the process that started it.
//! - [`Sandbox`]: a schema of its own for each test, migrated, and dropped when the test ends.
//! - [`Sandbox::with_clock`]: a clock that the test moves, so that what is due tomorrow is due when the test says so.
//! - [`published`]: what a code path published, as values.
//! - [`require_events`]: has every transaction refused that writes and publishes nothing.
//! - [`deliver_twice`]: proves that a handler can run twice.
//! - [`assert_wiring`], [`assert_names_kept`], [`assert_shapes_kept`]: one-line tests of an application's registrations.
//! - [`fault`]: a bad network, processes that die, sessions that hold locks, and crash points by name.
//! - [`Logs`]: what is said in the log, as lines.
//! - [`eventually`]: waits on a state, with a deadline, instead of sleeping.
//!
//! ```no_run
//! # use outbox_core as _;
//! # async fn place_order(_: &mut sqlx::PgConnection) -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = outbox_testing::Sandbox::new().await;
//! let outbox = sandbox.outbox().build().await?;
//!
//! let mut tx = outbox.begin().await?;
//! place_order(&mut tx).await?;
//! tx.commit().await?;
//!
//! outbox.run_due().await?; // runs every due job, and what those publish, one at a time
//! assert_eq!(sandbox.jobs().await.succeeded(), 5);
//! # Ok(())
//! # }
//! ```

pub mod server;

#[cfg(feature = "harness")]
mod clock;
#[cfg(feature = "harness")]
mod emits;
#[cfg(feature = "harness")]
mod eventually;
#[cfg(feature = "harness")]
pub mod fault;
#[cfg(feature = "harness")]
mod jobs;
#[cfg(feature = "harness")]
mod logs;
#[cfg(feature = "harness")]
mod names;
#[cfg(feature = "harness")]
mod published;
#[cfg(feature = "harness")]
mod sandbox;
#[cfg(feature = "harness")]
mod shapes;
#[cfg(feature = "harness")]
mod twice;
#[cfg(feature = "harness")]
mod wiring;

#[cfg(feature = "harness")]
pub use emits::require_events;
#[cfg(feature = "harness")]
pub use eventually::{DEADLINE, eventually};
#[cfg(feature = "harness")]
pub use jobs::{JobRow, Jobs};
#[cfg(feature = "harness")]
pub use logs::Logs;
#[cfg(feature = "harness")]
pub use names::assert_names_kept;
#[cfg(feature = "harness")]
pub use published::published;
#[cfg(feature = "harness")]
pub use sandbox::{POOLER_VARIABLE, Sandbox};
#[cfg(feature = "harness")]
pub use shapes::assert_shapes_kept;
#[cfg(feature = "harness")]
pub use twice::{Twice, deliver_twice};
#[cfg(feature = "harness")]
pub use wiring::assert_wiring;
