//! Not public API: all that generated code may name, and nothing else. It changes without notice.

pub use outbox_core::check;
pub use outbox_core::inventory;
pub use outbox_core::name::{
    EventName, JobName, Names, default_handler_name, event_name_is_taken_twice, job_name_is_taken_twice,
};
pub use outbox_core::serde;
pub use outbox_core::subscriber::RequiredModule;
pub use outbox_core::text::Text;
pub use outbox_core::tick::VERSION as TICK_VERSION;
pub use outbox_core::version::{
    AlsoAs, Downcast, Upcast, UpcastFrom, chain, check as check_payload, earlier_versions, stored,
};
pub use outbox_core::{
    Backoff, Cadence, CatchUp, Event, EventDescriptor, EventId, FromDelivery, IdempotencyKey, Input, IntoOutcome, Job,
    JobDescriptor, Kind, Message, Outcome, Overlap, Place, Schedule, Settings, Shape, Source, SubjectId,
    SubscriberDescriptor, Tracked, Versions,
};
pub use outbox_macros::__load;
