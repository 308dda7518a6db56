//! What a client is sent of an event.

use axum::response::sse::Event;
use outbox::Envelope;
use serde::Serialize;
use serde_json::value::RawValue;

/// What a client is sent of an event: its data, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    data: String,
    name: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    OfEvent,
    Said(String),
    Message,
}

/// What clients see of an envelope by default: neither its tenant nor its headers, which are the application's own.
#[derive(Serialize)]
struct Public<'a> {
    id: String,
    name: &'a str,
    version: u32,
    occurred_at: String,
    subject: Subject<'a>,
    actor: Option<&'a str>,
    correlation: String,
    payload: &'a RawValue,
}

#[derive(Serialize)]
struct Subject<'a> {
    kind: &'a str,
    id: Option<&'a str>,
}

impl Frame {
    /// Text of the application's choice. It is sent under the event's name.
    pub fn text(data: impl Into<String>) -> Self {
        Self { data: data.into(), name: Name::OfEvent }
    }

    /// A value as JSON, under the event's name.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn json(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::text)
    }

    /// The envelope as JSON: `id`, `name`, `version`, `occurred_at`, `subject`, `actor`, `correlation` and `payload`. What is sent when the
    /// application says nothing else.
    #[must_use]
    pub fn of(envelope: &Envelope) -> Self {
        // The server answers JSON, so this is it.
        let payload: &RawValue = serde_json::from_str(envelope.payload.as_json()).unwrap_or(RawValue::NULL);
        let public = Public {
            id: envelope.id.to_string(),
            name: &envelope.name,
            version: envelope.version,
            occurred_at: envelope.occurred_at.to_rfc3339(),
            subject: Subject { kind: &envelope.subject.kind, id: envelope.subject.id.as_deref() },
            actor: envelope.metadata.actor.as_deref(),
            correlation: envelope.correlation(),
            payload,
        };
        Self::text(serde_json::to_string(&public).unwrap_or_default())
    }

    /// Under another name than the event's. Line breaks in it are left out.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Name::Said(name.into().replace(['\r', '\n'], "")), ..self }
    }

    /// Under no name: what `onmessage` of an `EventSource` hears.
    #[must_use]
    pub fn message(self) -> Self {
        Self { name: Name::Message, ..self }
    }

    pub(crate) fn into_event(self, envelope: &Envelope) -> Event {
        let event = Event::default().data(self.data);
        match self.name {
            Name::OfEvent => event.event(&envelope.name),
            Name::Said(name) => event.event(name),
            Name::Message => event,
        }
    }
}
