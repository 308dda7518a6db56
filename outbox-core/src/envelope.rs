//! One published message in memory: what happened, to what, when, and in which context.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::EventId;
use crate::message::Message;
use crate::misfit::{self, Misfit};
use crate::version::{self, ReadError};
use crate::wire_name::WireName;

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
    /// Where it was ingested from, when it was published elsewhere and came over a broker. Nothing that follows from it has it: that is
    /// published here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Anything else, as text by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

impl Metadata {
    /// A context that says nothing yet.
    ///
    /// ```
    /// use outbox_core::Metadata;
    ///
    /// let context = Metadata::new().actor("ann").tenant("acme").correlation("request 7").header("via_webhook", "true");
    /// assert_eq!(context.headers["via_webhook"], "true");
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Who did it.
    #[must_use]
    pub fn actor(self, actor: impl Into<String>) -> Self {
        Self { actor: Some(actor.into()), ..self }
    }

    /// The tenant or project within which it happened.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        Self { tenant: Some(tenant.into()), ..self }
    }

    /// What ties together everything that one request set in motion.
    #[must_use]
    pub fn correlation(self, correlation: impl Into<String>) -> Self {
        Self { correlation: Some(correlation.into()), ..self }
    }

    /// W3C trace context, as the headers `traceparent` and `tracestate` carry it: stored with the message, shown in the span of each execution,
    /// and handed on to what follows from it.
    #[must_use]
    pub fn trace(self, traceparent: impl Into<String>, tracestate: Option<String>) -> Self {
        Self { traceparent: Some(traceparent.into()), tracestate, ..self }
    }

    /// Anything else that handlers should see, as text by name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// This context, and of `other` what this one does not say, field by field and header by header.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        let mut headers = other.headers;
        headers.append(&mut self.headers);
        Self {
            correlation: self.correlation.or(other.correlation),
            causation: self.causation.or(other.causation),
            actor: self.actor.or(other.actor),
            tenant: self.tenant.or(other.tenant),
            traceparent: self.traceparent.or(other.traceparent),
            tracestate: self.tracestate.or(other.tracestate),
            origin: self.origin.or(other.origin),
            headers,
        }
    }

    /// Reads stored context. What is not as this release writes it is left out, field by field and header by header: a header that is no
    /// text must not cost the tenant, and none of it keeps the work from being done.
    #[must_use]
    pub fn from_json(json: &str) -> Self {
        // Nearly always all of it fits.
        serde_json::from_str(json).unwrap_or_else(|_| Self::what_fits(json))
    }

    fn what_fits(json: &str) -> Self {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(json).unwrap_or_default();
        let headers: BTreeMap<String, Box<RawValue>> = field(&fields, "headers").unwrap_or_default();
        Self {
            correlation: field(&fields, "correlation"),
            causation: field(&fields, "causation"),
            actor: field(&fields, "actor"),
            tenant: field(&fields, "tenant"),
            traceparent: field(&fields, "traceparent"),
            tracestate: field(&fields, "tracestate"),
            origin: field(&fields, "origin"),
            headers: headers.keys().filter_map(|name| Some((name.clone(), field(&headers, name)?))).collect(),
        }
    }
}

fn field<T: DeserializeOwned>(fields: &BTreeMap<String, Box<RawValue>>, name: &str) -> Option<T> {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

impl Envelope {
    /// What ties this message to everything else of its request: its correlation, or its own id when it was the first.
    #[must_use]
    pub fn correlation(&self) -> String {
        self.metadata.correlation.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// Name and version as one text, as `policy.created.v2`. `None` for a stored name that no event can have.
    #[must_use]
    pub fn wire_name(&self) -> Option<WireName> {
        WireName::new(&self.name, self.version)
    }

    /// The message, where it is an `M`, from whichever version it was stored as.
    ///
    /// ```
    /// # use outbox_core::{Envelope, ReadError, message::{Kind, Message}};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct OrderPlaced { order_id: i64 }
    /// # impl Message for OrderPlaced { const NAME: &'static str = "order.placed"; const VERSION: u32 = 1; const KIND: Kind = Kind::Event; }
    /// fn order_of(event: &Envelope) -> Result<Option<i64>, ReadError> {
    ///     if event.name != OrderPlaced::NAME {
    ///         return Ok(None);
    ///     }
    ///     let order: OrderPlaced = event.decode()?;
    ///     Ok(Some(order.order_id))
    /// }
    /// ```
    ///
    /// # Errors
    /// When it is another message, of a version that `M` is not read from, or its payload does not fit; no retry will make it fit.
    pub fn decode<M: Message>(&self) -> Result<M, ReadError> {
        if self.name == M::NAME {
            return self.read();
        }
        Err(ReadError::Other { found: format!("{}.v{}", self.name, self.version), wanted: M::WIRE_NAME })
    }

    /// The same, for a handler: whose jobs these are was settled when they were written, and an alias is no other message.
    pub(crate) fn read<M: Message>(&self) -> Result<M, ReadError> {
        version::read(self.version, &self.payload)
    }

    /// The context of a message that a handler of this one publishes.
    #[must_use]
    pub fn follow_up(&self) -> Metadata {
        let (correlation, causation) = (Some(self.correlation()), Some(self.id));
        Metadata { correlation, causation, origin: None, ..self.metadata.clone() }
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

    /// S1-1: what is said closer by goes first, field by field.
    #[test]
    fn a_context_is_completed_by_another() {
        let inner = Metadata::new().actor("ann").header("a", "inner").header("b", "inner");
        let outer =
            Metadata::new().actor("bob").tenant("acme").correlation("7").header("b", "outer").header("c", "outer");
        let both = inner.or(outer);
        let expected = Metadata::new().actor("ann").tenant("acme").correlation("7");
        assert_eq!(both, expected.header("a", "inner").header("b", "inner").header("c", "outer"));
    }

    /// A number is the one that was published, to the last bit.
    #[test]
    fn numbers_are_read_exactly() {
        let published = 15_675_488.579_938_995_f64;
        let payload = Payload::from_json(serde_json::to_string(&published).expect("JSON"));
        assert_eq!(payload.decode::<f64>().expect("a number").to_bits(), published.to_bits());
    }

    /// One odd field costs itself, and not the others.
    #[test]
    fn odd_metadata_keeps_the_rest() {
        let metadata = Metadata::from_json(
            r#"{"actor":5,"tenant":"acme","causation":"nobody","headers":{"a":1,"b":"x","c":null},"later":1e999999}"#,
        );
        let headers = BTreeMap::from([("b".to_owned(), "x".to_owned())]);
        assert_eq!(metadata, Metadata { tenant: Some("acme".into()), headers, ..Metadata::default() });
        for odd in ["", "{", "null", "7", "[]", "{}", r#"{"headers":7}"#, r#"{"headers":["a"]}"#] {
            assert_eq!(Metadata::from_json(odd), Metadata::default(), "{odd}");
        }
    }

    fn texts() -> impl Strategy<Value = Option<String>> {
        prop::option::of(".{0,12}")
    }

    fn contexts() -> impl Strategy<Value = Metadata> {
        let causes = prop::option::of(any::<u128>().prop_map(|bits| EventId::from(uuid::Uuid::from_u128(bits))));
        let headers = prop::collection::btree_map(".{0,8}", ".{0,8}", 0..4);
        (texts(), causes, texts(), texts(), texts(), texts(), texts(), headers).prop_map(
            |(correlation, causation, actor, tenant, traceparent, tracestate, origin, headers)| Metadata {
                correlation,
                causation,
                actor,
                tenant,
                traceparent,
                tracestate,
                origin,
                headers,
            },
        )
    }

    /// JSON of any kind.
    fn values() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in ".{0,80}") {
            let _ = Metadata::from_json(&text);
            let _ = Payload::from_json(text).decode::<Metadata>();
        }

        /// What is stored of a context is read again, with fields of a later release beside it (S2-11).
        #[test]
        fn contexts_round_trip(context in contexts(), later in values()) {
            let mut stored = serde_json::to_value(&context).expect("a context is JSON");
            stored["invented_later"] = later;
            prop_assert_eq!(Metadata::from_json(&stored.to_string()), context);
        }

        /// Whatever stands in one field, the others are read as if it were not there.
        #[test]
        fn an_odd_field_costs_only_itself(context in contexts(), odd in values(), which in 0..7_usize) {
            const FIELDS: [&str; 7] = ["correlation", "causation", "actor", "tenant", "traceparent", "tracestate", "headers"];
            let mut stored = serde_json::to_value(&context).expect("a context is JSON");
            stored[FIELDS[which]] = odd;
            let read = serde_json::to_value(Metadata::from_json(&stored.to_string())).expect("a context is JSON");
            for name in FIELDS.iter().filter(|name| **name != FIELDS[which]) {
                prop_assert_eq!(read.get(name), stored.get(name), "{}", stored);
            }
        }

        /// A payload is kept as it was written, and decodes to what it says.
        #[test]
        fn payloads_round_trip(value in values()) {
            let payload = Payload::from_json(value.to_string());
            prop_assert_eq!(payload.as_json(), value.to_string());
            prop_assert_eq!(payload.decode::<serde_json::Value>().expect("JSON"), value);
        }
    }
}
