//! The engine of `outbox` on PostgreSQL. Users name the facade crate `outbox`.
//!
//! The map:
//!
//! - [`Outbox`] is the handle that an application holds, [`OutboxBuilder`] how it is made, [`migrate()`] what makes its tables.
//! - [`Publish`], [`PublishAll`] and [`Enqueue`] write into the caller's transaction; [`OutboxTransaction`] is one whose commit
//!   wakes the workers.
//! - `step/` is what happens to a row: one verb, one function, one statement beside it, no timing.
//! - `service/` is when: one loop each, no SQL. The *worker* claims and runs, the *settler* settles, the *lease keeper* renews
//!   apart from both, *upkeep* rescues, backfills and makes partitions, the *cleaner* prunes and vacuums, the
//!   *scheduler* takes the ticks of schedules, the *listener* hears of other processes' commits, the *feed* reads for live streams.
//! - [`Leases`] and [`SessionLock`] are for work that one process does at a time; they need nothing else of this crate,
//!   and neither do [`Executor`], for work that nobody waits for, and [`Supervisor`], for the loops of a service.
//! - [`LiveStreams`] show committed events to whoever looks on now.
//!
//! A job's way:
//!
//! ```text
//!   publish ──▶ pending ──claim──▶ running ──run, settle──▶ succeeded
//!                  ▲                  │
//!                  │                  ├──▶ failed ──redrive──▶ pending
//!                  └──────────────────┘
//!      retry · snooze · return · rescue
//! ```

mod atomic;
mod backoff;
mod builder;
mod cancellation;
mod catalogue;
mod config;
mod dead_letters;
mod discreet;
mod durable_lease;
mod enqueue;
mod error;
mod executing;
mod executor;
mod fan_out;
mod hashed;
pub mod health;
mod identity;
mod in_transaction;
mod inbox;
pub mod ingest;
mod jsonb;
mod lane;
mod live;
mod meters;
mod migrate;
mod opening;
mod operations;
mod outbox;
mod parked;
mod profile;
mod publish;
mod reconcile;
mod replay;
mod retention;
mod roles;
mod schedules;
mod schema;
mod scope;
mod service;
mod session_lock;
mod signal;
mod sqlstate;
mod step;
mod step_back;
mod supervisor;
mod to_the_end;
mod transaction;
mod tx;
mod unwind;
mod vitals;
mod wake;

pub use builder::OutboxBuilder;
pub use cancellation::Cancellation;
pub use dead_letters::{DeadLetters, RedriveReport, Redriven, RedrivenJob};
pub use durable_lease::{DurableLease, Held, LeaseError, Leases};
pub use enqueue::{Enqueue, Enqueued, Enqueuing};
pub use error::{BuildError, GrantError, MigrateError, OperationError, PublishError, RunError, SettingFault};
pub use executor::{Executor, ExecutorError, ShutDown, Started};
pub use health::Health;
pub use inbox::{Inbox, InboxError};
pub use jsonb::Refusal;
#[doc(hidden)]
pub use lane::session_of_a_lane;
pub use live::{Live, LiveError, LiveLoad, LivePosition, LiveStream, LiveStreams, LiveSubscription, Missed};
#[doc(hidden)]
pub use migrate::Migrator;
pub use migrate::{migrate, migrate_schema};
pub use outbox::Outbox;
pub use parked::{Asked, EffectOwner, Parked};
pub use profile::Profile;
pub use publish::{Publish, PublishAll, Published, Publishing, PublishingAll};
pub use reconcile::{Drift, Entries, Reconcile, Reconciled, Reconciliation};
pub use replay::{Replay, Replayed};
pub use retention::Retention;
pub use roles::Roles;
pub use schedules::Schedules;
pub use schema::{InvalidSchema, Schema};
pub use scope::context;
pub use service::{DrainError, Drained, Executed, RanDue};
pub use session_lock::{SessionLock, SessionLockError};
pub use signal::shutdown_signal;
pub use step::dead_letters::FailedAttempt;
pub use step::failed::FailedJob;
pub use step::parked::DeadLetter;
pub use step::schedule_status::ScheduleStatus;
pub use step::survey::Unclaimed;
pub use supervisor::{Supervisor, SupervisorError};
pub use transaction::OutboxTransaction;
pub use tx::Tx;
