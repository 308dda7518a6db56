//! What is handed over, and what it is taken as.

use std::fmt;
use std::str::FromStr;

use outbox_core::{Envelope, EventId, QuarantineId};

use crate::lane::LaneError;
use crate::sqlstate;

/// One message that came, read as an event or not.
#[derive(Debug, Clone)]
pub struct Arrival<'a> {
    /// What the message is, as a number: the same for the same message, however often and by whomever it is delivered.
    pub digest: [u8; 32],
    /// Its headers as a JSON object, those alone that may be kept.
    pub headers: &'a str,
    /// Its body, byte for byte.
    pub body: &'a [u8],
    /// The event that it is, or why it is none.
    pub read: Result<Envelope, Unfit>,
}

/// Why a message is no event here, and what is known of it all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The kind of reason.
    pub class: QuarantineClass,
    /// The reason, without payload.
    pub reason: String,
    /// The event's id, where it says one.
    pub event_id: Option<EventId>,
    /// The event's name, where it says one.
    pub event_type: Option<String>,
    /// The version of its payload, where it says one.
    pub event_version: Option<u32>,
}

/// Why a message stands in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum QuarantineClass {
    /// Its headers, or its body, are not what they are to be: no text, no name, no JSON.
    Undecodable,
    /// It has no id by which it could be told from others, or one that is already that of another event.
    NotAnId,
    /// Nobody here declares or receives an event of its name.
    UnknownType,
    /// Events of its name are known here, and not in its version: a newer producer, or one that is older than all that this binary reads.
    UnsupportedVersion,
    /// Its payload does not decode to the type of its name and version, or not through its upcasts.
    WrongPayload,
    /// An in-transaction subscriber refused it, or is not linked into the binary that took it.
    Refused,
}

impl QuarantineClass {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Undecodable,
        Self::NotAnId,
        Self::UnknownType,
        Self::UnsupportedVersion,
        Self::WrongPayload,
        Self::Refused,
    ];

    /// As it is stored, and in labels of metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undecodable => "undecodable",
            Self::NotAnId => "not_an_id",
            Self::UnknownType => "unknown_type",
            Self::UnsupportedVersion => "unsupported_version",
            Self::WrongPayload => "wrong_payload",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for QuarantineClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no class of quarantine `{0}`")]
pub struct NoClass(String);

impl FromStr for QuarantineClass {
    type Err = NoClass;

    fn from_str(text: &str) -> Result<Self, NoClass> {
        Self::ALL
            .into_iter()
            .find(|class| class.as_str() == text)
            .ok_or_else(|| NoClass(text.chars().take(64).collect()))
    }
}

/// What a message was taken as. Each of them is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Taken {
    /// A new event.
    Stored {
        /// Jobs that it has; none where nobody receives it at the moment.
        jobs: u64,
    },
    /// An event that is there already.
    Duplicate,
    /// No event here.
    Quarantined {
        /// Its row.
        id: QuarantineId,
        /// Why.
        unfit: Unfit,
        /// Whether it stood there before.
        again: bool,
    },
}

impl Unfit {
    /// Of an event that was read.
    pub(crate) fn of(event: &Envelope, class: QuarantineClass, reason: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.into(),
            event_id: Some(event.id),
            event_type: Some(event.name.clone()),
            event_version: Some(event.version),
        }
    }

    /// The database refuses the row: its code alone, because its words may quote the row.
    pub(super) fn refused(arrival: &Arrival<'_>, error: &LaneError) -> Self {
        let code = match error {
            LaneError::Database(error) => sqlstate::code(error),
            LaneError::Deadline(_) | LaneError::Unconnected(_) => None,
        };
        let reason = format!("the database refuses it, SQLSTATE {}", code.unwrap_or_default());
        match &arrival.read {
            Ok(event) => Self::of(event, QuarantineClass::WrongPayload, reason),
            Err(unfit) => Self { reason, ..unfit.clone() },
        }
    }
}

impl Arrival<'_> {
    /// The same message, as one that does not fit.
    pub(super) fn unfit(&self, unfit: Unfit) -> Self {
        Self { read: Err(unfit), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_as_they_are_written() {
        for class in QuarantineClass::ALL {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert!("none".parse::<QuarantineClass>().is_err());
    }
}
