//! Words and rules of `outbox`, without a clock, a runtime or a database.
//!
//! The map, in the order in which a published event travels:
//!
//! 1. [`event`] and [`job`] say what a user's type is: a fact for many handlers, or a command for exactly one.
//!    [`message`] is what the two share, [`name`] the grammar of their stored names, [`wire_name`] name and version as one text,
//!    [`version`] how one version is read as another, [`shape`] the names of its fields, [`id`] their identifiers.
//! 2. [`envelope`] is one published message in memory; [`changes`] are what its payload can say of two values.
//! 3. [`subscriber`] describes a handler; [`registry`] gathers all that is linked and refuses wrong wiring;
//!    [`check`] holds the rules that the attributes have the compiler evaluate.
//! 4. [`delivery`] is one execution of one handler, [`extract`] how its parameters are filled, from the message, the
//!    [`state`] and the [`idempotency`] key; [`batch`] is many messages in one execution.
//! 5. [`outcome`] and [`failure`] are what a handler returned, [`error_chain`] the text kept of an error.
//! 6. [`transition`] says what becomes of the job, [`retry`] when it is due again, [`slots`] how many run at once,
//!    [`lease`] until when a worker may act.
//! 7. [`schedule`] is what a schedule declares, [`timetable`] when it is due, [`tick`] what its job carries.
//!
//! Users name the facade crate `outbox`; this crate is what generated code and the engine build on.

pub mod batch;
pub mod changes;
pub mod check;
pub mod delivery;
pub mod duration;
pub mod envelope;
pub mod error_chain;
pub mod event;
pub mod extract;
pub mod failure;
pub mod id;
pub mod idempotency;
pub mod job;
pub mod lease;
pub mod message;
pub mod misfit;
pub mod name;
pub mod outcome;
pub mod registry;
pub mod retry;
pub mod schedule;
pub mod shape;
pub mod slots;
pub mod state;
pub mod subscriber;
pub mod text;
pub mod tick;
pub mod timetable;
pub mod transition;
pub mod version;
pub mod wire_name;

pub use batch::{Batch, BatchItem, BatchJob, BatchOutcomes, Single};
pub use changes::{Change, Changes, ChangesError, Omitted, Tracked};
pub use delivery::{Delivery, Item};
pub use envelope::{Envelope, Metadata, Payload, Subject};
pub use event::{Event, EventDescriptor, SubjectId};
pub use extract::{Attempt, FromDelivery, Input, State};
pub use failure::{BoxError, Failure, HandlerResult, Verdict};
pub use id::{EventId, JobId, ParseIdError, QuarantineId};
pub use idempotency::{Guard, IdempotencyKey};
pub use inventory;
pub use job::{Job, JobDescriptor};
pub use message::{Kind, Message, Versions};
pub use outcome::{HandlerError, IntoOutcome, Outcome};
pub use registry::{Fault, Registry};
pub use retry::Backoff;
pub use schedule::{Cadence, CatchUp, Overlap, Schedule};
pub use serde;
pub use shape::Shape;
pub use state::{MissingState, Requirement, Requirements, TypeMap};
pub use subscriber::{Place, Settings, Source, SubscriberDescriptor};
pub use tick::Tick;
pub use transition::Answer;
pub use version::ReadError;
pub use wire_name::{ParseWireNameError, WireName};

/// A future that is boxed so that a `static` entry can name its type.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
