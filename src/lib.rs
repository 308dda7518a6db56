//! Transactional outbox and jobs on PostgreSQL.
//!
//! Mark a type as an event and a function as its subscriber. Publish the event inside your own sqlx transaction: the
//! event and one job for each subscriber commit with your rows, or not at all. Workers run the jobs at least once, and a
//! handler that takes the transaction has its effect exactly once. Wrong wiring does not compile. PostgreSQL is the
//! only thing to operate.
//!
//! ```no_run
//! mod inventory {
//!     use outbox::prelude::*;
//!
//!     /// A customer's order was accepted.
//!     #[event("order.placed")]
//!     pub struct OrderPlaced {
//!         #[subject]
//!         pub order_id: i64,
//!         pub units: i32,
//!     }
//!
//!     /// Stored as `inventory.take`. Its update and the completion of its job commit together.
//!     #[subscriber(event = "order.placed", max_attempts = 5)]
//!     async fn take(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
//!         let take = sqlx::query("update stock set units = units - $1").bind(order.units);
//!         take.execute(&mut *tx).await.map(drop)
//!     }
//! }
//!
//! use outbox::prelude::*;
//!
//! outbox::modules![inventory];
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = sqlx::PgPool::connect("postgres://localhost/shop").await?;
//! outbox::migrate(&pool).await?;
//! let outbox = Outbox::builder(pool).build().await?; // refuses wrong wiring, naming every fault
//!
//! let mut tx = outbox.begin().await?; // an sqlx transaction whose commit wakes the workers
//! sqlx::query("insert into orders values (4711, 2)").execute(&mut *tx).await?;
//! inventory::OrderPlaced { order_id: 4711, units: 2 }.publish(&mut tx).await?;
//! tx.commit().await?;
//!
//! outbox.run(outbox::shutdown_signal()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Where to go from here
//!
//! | you want to | read |
//! |---|---|
//! | say what happened, or what is to be done | [`event`](macro@event), [`job`](macro@job) |
//! | handle it | [`subscriber`](macro@subscriber), and its parameters [`Tx`], [`State`], [`IdempotencyKey`], [`Attempt`], [`Envelope`], [`Cancellation`] |
//! | handle many at once, each with an outcome of its own | [`Batch`] |
//! | do something at certain times | [`scheduled`](macro@scheduled), and its parameter [`Tick`]; [`Schedules`] to look at, run, pause |
//! | ask whether an effect took place of which nobody knows | [`Outbox::parked`], [`EffectOwner`] |
//! | look at what failed, and run it again | [`Outbox::dead_letters`] |
//! | fail in another way than "again, later" | [`Failure`], [`HandlerResult`] |
//! | say in an event which fields changed | [`Changes`](struct@Changes), [`derive(Changes)`](derive@Changes) |
//! | publish or enqueue | [`Publish`], [`PublishAll`], [`Enqueue`] |
//! | say who did it, and within which project and request | [`Metadata`], [`Outbox::scope_with`], [`context`] |
//! | have all handlers in the program | [`modules!`] |
//! | show what happens as it happens | [`LiveStreams`], [`Live`] |
//! | compare a projection with its authority | [`Reconcile`], [`Reconciliation`] |
//! | handle stored events once more | [`Outbox::replay`] |
//! | run workers | [`Outbox`], [`OutboxBuilder`] |
//! | start work that goes on behind a request | [`Executor`] |
//! | run the loops of a service together | [`Supervisor`] |
//! | mark what a consumer of one's own has done | [`Inbox`] |
//! | do something in one process at a time | [`Leases`], [`SessionLock`] |
//! | write a parameter of your own | [`FromDelivery`] |
//!
//! # The crates
//!
//! This crate holds no behaviour; it is the one name that users need.
//!
//! | crate | holds |
//! |---|---|
//! | `outbox-core` | the words and rules: traits, descriptors, names, registry, retry policy, outcomes; no clock, no runtime, no database |
//! | `outbox-macros` | the attributes |
//! | `outbox-postgres` | the engine: publish, claim, run, settle |
//! | `outbox-relay`, `outbox-ingest` | events to a message broker, and from one |
//! | `outbox-nats`, `outbox-amqp` | the brokers: NATS JetStream, RabbitMQ |
//! | `outbox-axum` | live streams as server-sent events of axum |
//! | `outbox-testing` | for tests: a throwaway PostgreSQL, a schema a test, drain and assertions |
//! | `outbox-webhooks` | events to endpoints that users enter, signed and retried; and a verifier for receivers |
//!
//! In a crate that calls this one otherwise, one line lets the attributes find it: `extern crate queue as outbox;`, or
//! `crate = ::queue` as an option of each.

mod modules;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use outbox_core::transition::{Answer, JobState, Reason};
pub use outbox_core::{
    Attempt, Backoff, Batch, BatchItem, BatchJob, BatchOutcomes, BoxError, Cadence, CatchUp, Change, Changes,
    ChangesError, Delivery, Envelope, Event, EventDescriptor, EventId, Failure, Fault, FromDelivery, Guard,
    HandlerResult, IdempotencyKey, Input, Job, JobDescriptor, JobId, Message, Metadata, MissingState, Omitted, Outcome,
    Overlap, ParseIdError, ParseWireNameError, Payload, QuarantineId, ReadError, Registry, Requirement, Requirements,
    Schedule, Settings, State, Subject, SubjectId, SubscriberDescriptor, Tick, Tracked, TypeMap, Verdict, WireName,
};
#[doc = include_str!("docs/changes.md")]
pub use outbox_macros::Changes;
#[doc = include_str!("docs/event.md")]
pub use outbox_macros::event;
#[doc = include_str!("docs/job.md")]
pub use outbox_macros::job;
#[doc = include_str!("docs/scheduled.md")]
pub use outbox_macros::scheduled;
#[doc = include_str!("docs/subscriber.md")]
pub use outbox_macros::subscriber;
pub use outbox_postgres::{
    Asked, BuildError, Cancellation, DeadLetter, DeadLetters, DrainError, Drained, Drift, DurableLease, EffectOwner,
    Enqueue, Enqueued, Enqueuing, Entries, Executed, Executor, ExecutorError, FailedAttempt, FailedJob, GrantError,
    Health, Held, Inbox, InboxError, InvalidSchema, LeaseError, Leases, Live, LiveError, LiveLoad, LivePosition,
    LiveStream, LiveStreams, LiveSubscription, MigrateError, Missed, OperationError, Outbox, OutboxBuilder,
    OutboxTransaction, Parked, Profile, Publish, PublishAll, PublishError, Published, Publishing, PublishingAll,
    RanDue, Reconcile, Reconciled, Reconciliation, RedriveReport, Redriven, RedrivenJob, Refusal, Replay, Replayed,
    Retention, Roles, RunError, ScheduleStatus, Schedules, Schema, SessionLock, SessionLockError, SettingFault,
    ShutDown, Started, Supervisor, SupervisorError, Tx, Unclaimed, context, health, ingest, migrate, migrate_schema,
    shutdown_signal,
};

/// What code that declares, publishes and handles needs: `use outbox::prelude::*;`
pub mod prelude {
    pub use crate::{
        Attempt, Batch, Cancellation, Enqueue, Envelope, Failure, HandlerResult, IdempotencyKey, Outbox, Publish,
        PublishAll, State, Tick, Tx, event, job, scheduled, subscriber,
    };
}
