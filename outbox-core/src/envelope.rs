//! One published message in memory: what happened, to what, when, and in which context.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::misfit::{self, Misfit};

/// A published event (or an enqueued job) with its context, its payload still undecoded.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The event's id; for a job that no event caused, the job's own.
    pub id: EventId,
    /// Stored name, as `order.placed`.
    pub name: String,
    /// Version of the payload's shape.
    pub version: u32,
    /// When it was published, by the database's clock.
    pub occurred_at: DateTime<Utc>,
    /// What it is about.
    pub subject: Subject,
    /// Who caused it, and within which request.
    pub metadata: Metadata,
    /// The JSON that was published.
    pub payload: Payload,
}

/// What an event is about: `order` and `4711`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The first word of the event's name.
    pub kind: String,
    /// The field marked `#[subject]`, when the event has one.
    pub id: Option<String>,
}

/// The context of a message. Everything is optional, and only what is there is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Ties together everything that one request set in motion. Absent at the first message, whose id it then is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    /// The event whose handler published this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causation: Option<EventId>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The tenant or project within which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// W3C trace context, as the `traceparent` header carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// W3C trace context, as the `tracestate` header carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// Anything else, as text by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

impl Envelope {
    /// What ties this message to everything else of its request: its correlation, or its own id when it was the first.
    #[must_use]
    pub fn correlation(&self) -> String {
        self.metadata.correlation.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// The context of a message that a handler of this one publishes.
    #[must_use]
    pub fn follow_up(&self) -> Metadata {
        Metadata { correlation: Some(self.correlation()), causation: Some(self.id), ..self.metadata.clone() }
    }
}

/// JSON text that was stored, decoded on demand.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Box<str>);

impl Payload {
    /// A payload of this JSON text. The text is judged when it is decoded.
    #[must_use]
    pub fn from_json(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The value of this payload.
    ///
    /// # Errors
    /// When the JSON does not fit `T`; the error names the place, as `lines[2].quantity`, and does not repeat the value.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        // The fast way first: keeping track of the place costs, and is wanted only by the error.
        serde_json::from_str(&self.0).or_else(|_| {
            let reader = &mut serde_json::Deserializer::from_str(&self.0);
            serde_path_to_error::deserialize(reader).map_err(|error| {
                let source = Misfit::of(error.inner());
                DecodeError { path: misfit::place(error.path(), &source), source }
            })
        })
    }
}

/// Shows the size only: payloads stay out of logs.
impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// A payload that does not fit the type of its handler.
#[derive(Debug, thiserror::Error)]
#[error("the payload does not decode at `{path}`")]
pub struct DecodeError {
    path: String,
    source: Misfit,
}

impl DecodeError {
    /// Where in the payload, as `lines[2].quantity`; `*` stands for the key of a map.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// S2-11: a field that this reader does not know is no error.
    #[test]
    fn unknown_metadata_is_left_alone() {
        let metadata: Metadata =
            serde_json::from_str(r#"{"actor":"ann","invented_later":{"x":1}}"#).expect("unknown fields are no error");
        assert_eq!(metadata, Metadata { actor: Some("ann".into()), ..Metadata::default() });
        assert_eq!(serde_json::to_string(&Metadata::default()).expect("JSON"), "{}");
    }

    #[test]
    fn a_decode_error_names_the_place() {
        #[derive(Debug, Deserialize)]
        struct Order {
            #[allow(dead_code, reason = "only decoded")]
            lines: Vec<Line>,
        }
        #[derive(Debug, Deserialize)]
        struct Line {
            #[allow(dead_code, reason = "only decoded")]
            quantity: u32,
        }
        let error = Payload::from_json(r#"{"lines":[{"quantity":1},{"quantity":"two"}]}"#)
            .decode::<Order>()
            .expect_err("text is no number");
        assert_eq!(error.path(), "lines[1].quantity");
        assert_eq!(error.to_string(), "the payload does not decode at `lines[1].quantity`");
    }

    #[test]
    fn a_follow_up_keeps_the_correlation_and_names_its_cause() {
        let id: EventId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a ULID");
        let first = Envelope {
            id,
            name: "order.placed".into(),
            version: 1,
            occurred_at: DateTime::UNIX_EPOCH,
            subject: Subject::default(),
            metadata: Metadata { tenant: Some("acme".into()), ..Metadata::default() },
            payload: Payload::from_json("{}"),
        };
        let next = first.follow_up();
        assert_eq!(next.correlation, Some(id.to_string()));
        assert_eq!(next.causation, Some(id));
        assert_eq!(next.tenant.as_deref(), Some("acme"));
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in ".{0,80}") {
            let _ = serde_json::from_str::<Metadata>(&text);
            let _ = Payload::from_json(text).decode::<Metadata>();
        }
    }
}
