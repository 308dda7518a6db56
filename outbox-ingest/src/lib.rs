#![doc = include_str!("../README.md")]
//!
//! # The files
//!
//! | | |
//! |---|---|
//! | `source`, `delivery` | what a broker's client must be able to do; one message, which nobody else can acknowledge |
//! | `kept`, `read` | of a message what may be kept, and the event that it is |
//! | `ingest`, `batch`, `builder` | receive, store, acknowledge; hold and give back while the database is away |
//! | `status`, `meters` | what can be seen |
//! | `quarantine` | looking at what is no event here, and deciding |
//! | `contract` | feature `testing`: what every source keeps, as tests against a real server |

mod batch;
mod builder;
#[cfg(feature = "testing")]
pub mod contract;
mod delivery;
mod ingest;
mod kept;
mod meters;
mod quarantine;
mod read;
mod source;
mod status;

pub use outbox::QuarantineId;
pub use outbox::ingest::{QuarantineClass, Quarantined, Redriven, Selection, Unfit};
pub use outbox_relay::{Link, LinkStatus};

pub use self::{
    builder::{IngestBuilder, SettingError},
    delivery::{Acknowledge, Delivery},
    ingest::Ingest,
    quarantine::{InQuarantine, Quarantine},
    source::Source,
    status::IngestStatus,
};
