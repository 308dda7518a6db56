//! A message on its way out: an envelope as CloudEvents 1.0 in binary mode, of which a transport makes its broker's headers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chrono::SecondsFormat;
use outbox::{Envelope, EventId};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::route::Routing;

/// One event as it is published. Only a [`Relay`](crate::Relay) can make one, of an event that its own job carries.
///
/// A transport gives the broker [`id`](Self::id) as the message's id, routes by [`route`](Self::route), and writes the
/// [`attributes`](Self::attributes) as its CloudEvents binding says: `ce-` in front of them on NATS, `cloudEvents:` on AMQP.
#[derive(Clone)]
pub struct Outgoing {
    envelope: Arc<Envelope>,
    source: Arc<str>,
    route: String,
    payload: Bytes,
    // What attributes say that is no text in the envelope.
    id_text: String,
    name: String,
    time: String,
    causation: Option<String>,
    headers: Option<String>,
}

/// An event that can never be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsendable {
    /// Too long for AMQP's routing key, and nothing that a router should have to read.
    #[error(
        "its subject or routing key would have {0} bytes, of which brokers take 255: route by a shorter subject, or by none"
    )]
    RouteTooLong(usize),
    /// Written past the library: nobody who receives it could say what it is.
    #[error("`{0}`, version {1}, is the name of no event, so it has none under which it could travel")]
    NoName(String, u32),
}

/// The type of every payload.
pub const CONTENT_TYPE: &str = "application/json";

impl Outgoing {
    pub(crate) fn of(envelope: &Arc<Envelope>, source: &Arc<str>, routing: &Routing) -> Result<Self, Unsendable> {
        let no_name = || Unsendable::NoName(envelope.name.clone(), envelope.version);
        let name = envelope.wire_name().ok_or_else(no_name)?;
        let context = &envelope.metadata;
        let has_headers = !context.headers.is_empty();
        Ok(Self {
            route: routing.of(envelope, &name)?,
            payload: Bytes::copy_from_slice(envelope.payload.as_json().as_bytes()),
            id_text: envelope.id.to_string(),
            name: name.to_string(),
            time: envelope.occurred_at.to_rfc3339_opts(SecondsFormat::Micros, true),
            causation: context.causation.map(|id| id.to_string()),
            headers: has_headers.then(|| serde_json::to_string(&context.headers).unwrap_or_default()),
            envelope: Arc::clone(envelope),
            source: Arc::clone(source),
        })
    }

    /// The event's id, which is the message's id too, at every attempt and for ever.
    #[must_use]
    pub fn id(&self) -> EventId {
        self.envelope.id
    }

    /// The same as text.
    #[must_use]
    pub fn id_text(&self) -> &str {
        &self.id_text
    }

    /// Subject or routing key: words of letters, digits, `_`, `-` and `%`, joined by dots, at most 255 bytes.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// The context attributes of CloudEvents, without `datacontenttype`, as text that may hold any character: those that
    /// [the specification](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md) requires, `time` and `subject`, the extension
    /// for distributed tracing, and what else a consumer needs of the context.
    pub fn attributes(&self) -> impl Iterator<Item = (&'static str, &str)> + '_ {
        let context = &self.envelope.metadata;
        let always = [
            ("specversion", "1.0"),
            ("id", &self.id_text),
            ("source", &self.source),
            ("type", &self.name),
            ("time", &self.time),
            ("correlationid", context.correlation.as_deref().unwrap_or(&self.id_text)),
        ];
        let optional = [
            ("subject", &self.envelope.subject.id),
            ("causationid", &self.causation),
            ("actor", &context.actor),
            ("tenant", &context.tenant),
            ("traceparent", &context.traceparent),
            ("tracestate", &context.tracestate),
            ("headers", &self.headers),
        ];
        always.into_iter().chain(optional.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))))
    }

    /// W3C trace context, `traceparent` and `tracestate`, for headers by their own names.
    pub fn trace_context(&self) -> impl Iterator<Item = (&'static str, &str)> + '_ {
        self.attributes().filter(|(name, _)| matches!(*name, "traceparent" | "tracestate"))
    }

    /// `datacontenttype`.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        CONTENT_TYPE
    }

    /// The JSON that was published, byte for byte.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }
}

/// Shows what and where to, and of the payload the size only.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} to {}, {} bytes)", self.id_text, self.route, self.payload.len())
    }
}

/// What CloudEvents' HTTP binding, [section 3.1.3.2](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md#3132-http-header-values),
/// has encoded: space, `"`, `%`, and all that is no printable ASCII.
const HEADER_VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// The value of an attribute for headers that are lines of ASCII, as in HTTP and NATS.
#[must_use]
pub fn header_value(value: &str) -> Cow<'_, str> {
    utf8_percent_encode(value, HEADER_VALUE).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use chrono::DateTime;
    use outbox::{Metadata, Payload, Subject};
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn envelope() -> Envelope {
        Envelope {
            id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
            name: "order.placed".to_owned(),
            version: 1,
            occurred_at: DateTime::UNIX_EPOCH,
            subject: Subject { kind: "order".to_owned(), id: Some("4711".to_owned()) },
            metadata: Metadata::new(),
            payload: Payload::from_json(r#"{"order_id": 4711}"#),
        }
    }

    fn outgoing(envelope: &Envelope) -> Outgoing {
        Outgoing::of(&Arc::new(envelope.clone()), &"/shop".into(), &Routing::default()).unwrap()
    }

    /// A name that no event can have is refused for good: no retry makes it one.
    #[test]
    fn a_name_that_no_event_has_does_not_travel() {
        for (name, version) in [("Order placed", 1), ("order.placed.v2", 1), ("order.placed", 0)] {
            let odd = Envelope { name: name.to_owned(), version, ..envelope() };
            let refused = Outgoing::of(&Arc::new(odd), &"/shop".into(), &Routing::default()).unwrap_err();
            assert_eq!(refused, Unsendable::NoName(name.to_owned(), version));
        }
    }

    #[test]
    fn an_event_of_little_context_has_what_the_specification_requires() {
        let message = outgoing(&envelope());
        let attributes: BTreeMap<_, _> = message.attributes().collect();
        let expected = [
            ("specversion", "1.0"),
            ("id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            ("source", "/shop"),
            ("type", "order.placed.v1"),
            ("time", "1970-01-01T00:00:00.000000Z"),
            ("subject", "4711"),
            ("correlationid", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ];
        assert_eq!(attributes, BTreeMap::from(expected));
        assert_eq!(message.payload().as_ref(), br#"{"order_id": 4711}"#);
        assert_eq!(message.content_type(), "application/json");
    }

    /// There is one source of both.
    #[test]
    fn the_version_is_in_the_wire_name() {
        let message = outgoing(&Envelope { version: 2, ..envelope() });
        assert!(message.attributes().any(|attribute| attribute == ("type", "order.placed.v2")));
        assert_eq!(message.route(), "order.placed.v2");
    }

    #[test]
    fn the_whole_context_travels() {
        let mut context = Metadata::new().actor("ann").tenant("acme").correlation("request 7").header("via", "a\"b");
        context.causation = Some(EventId::from(envelope().id.as_uuid()));
        context.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
        context.tracestate = Some("vendor=1".to_owned());
        let message = outgoing(&Envelope { metadata: context, ..envelope() });
        let attributes: BTreeMap<_, _> = message.attributes().collect();
        assert_eq!(attributes["actor"], "ann");
        assert_eq!(attributes["tenant"], "acme");
        assert_eq!(attributes["correlationid"], "request 7");
        assert_eq!(attributes["causationid"], "01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(attributes["headers"], r#"{"via":"a\"b"}"#);
        let trace: Vec<_> = message.trace_context().map(|(name, _)| name).collect();
        assert_eq!(trace, ["traceparent", "tracestate"]);
        // Names as CloudEvents allows them.
        assert!(attributes.keys().all(|name| name.len() <= 20 && name.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn a_message_shows_no_payload() {
        let text = format!("{:?}", outgoing(&envelope()));
        assert_eq!(text, "Outgoing(01ARZ3NDEKTSV4RRFFQ69G5FAV to order.placed.v1, 18 bytes)");
    }

    proptest! {
        /// Whatever a value holds, its header is one line of printable ASCII and reads back as it was.
        #[test]
        fn header_values_are_one_line_and_read_back(value in "(?s).{0,40}") {
            let header = header_value(&value);
            prop_assert!(header.bytes().all(|byte| byte.is_ascii_graphic()));
            let back = percent_encoding::percent_decode_str(&header).decode_utf8().unwrap();
            prop_assert_eq!(back, value.as_str());
        }
    }
}
