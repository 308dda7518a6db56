//! Of a message's headers those that an event is made of; no other is kept, whatever it holds.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::delivery::{Message, Value};

/// The context attributes that are read; see [the specification](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md), and
/// what a relay adds.
const ATTRIBUTES: [&str; 13] = [
    "actor",
    "causationid",
    "correlationid",
    "headers",
    "id",
    "source",
    "specversion",
    "subject",
    "tenant",
    "time",
    TRACE[0],
    TRACE[1],
    "type",
];
/// W3C trace context, which is read as a header too.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];
pub(crate) const CONTENT_TYPE: &str = "content-type";
pub(crate) const MESSAGE_ID: &str = "message-id";
const ROUTE: &str = "route";

/// Headers by name. `None` is one that was there and is no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept(BTreeMap<String, Option<String>>);

impl Kept {
    pub(crate) fn of(message: &Message) -> Self {
        let mut kept = BTreeMap::new();
        // The header of a hop goes before the attribute; of one name the first.
        let trace = message.headers.iter().filter(|(name, _)| TRACE.contains(&name.as_str()));
        let attributes = message.attributes.iter().filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
        for (name, value) in trace.chain(attributes) {
            kept.entry(name.clone()).or_insert_with(|| text(value));
        }
        let own = [
            (CONTENT_TYPE, message.content_type.clone()),
            (MESSAGE_ID, message.broker_id.clone()),
            (ROUTE, Some(message.route.clone()).filter(|route| !route.is_empty())),
        ];
        for (name, value) in own {
            if let Some(value) = value {
                kept.insert(name.to_owned(), Some(value).filter(|value| !value.contains('\0')));
            }
        }
        Self(kept)
    }

    /// As it was stored.
    pub(crate) fn from_json(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }

    pub(crate) fn to_json(&self) -> String {
        // A map of texts is JSON.
        serde_json::to_string(&self.0).unwrap_or_else(|_| "{}".to_owned())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// A header that is no text.
    pub(crate) fn undecodable(&self) -> Option<&str> {
        self.0.iter().find(|(_, value)| value.is_none()).map(|(name, _)| name.as_str())
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, Option<String>> {
        self.0
    }

    /// What the message is, as a number: not how it came. A trace may be another at each try.
    pub(crate) fn digest(&self, body: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new();
        for (name, value) in self.0.iter().filter(|(name, _)| !TRACE.contains(&name.as_str())) {
            for part in [Some(name), value.as_ref()] {
                // Lengths, so that no two messages run together to the same bytes.
                digest.update(part.map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
                digest.update(part.map_or("", String::as_str));
            }
        }
        digest.update(body);
        digest.finalize().into()
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Undecodable => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(attributes: &[(&str, &str)]) -> Message {
        let attributes =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect();
        Message { attributes, ..Message::default() }
    }

    /// S2-32: what is not on the list is not kept.
    #[test]
    fn other_headers_are_not_kept() {
        let mut message = message(&[("type", "order.placed.v1"), ("authorization", "Bearer secret")]);
        message.headers.push(("cookie".to_owned(), Value::Text("secret".to_owned())));
        message.headers.push(("traceparent".to_owned(), Value::Text("00-1".to_owned())));
        let json = Kept::of(&message).to_json();
        assert_eq!(json, r#"{"traceparent":"00-1","type":"order.placed.v1"}"#);
        assert_eq!(Kept::from_json(&json), Kept::of(&message));
    }

    #[test]
    fn a_digest_tells_messages_apart_and_not_tries() {
        let digest = |attributes: &[(&str, &str)], body: &[u8]| Kept::of(&message(attributes)).digest(body);
        let one = digest(&[("id", "1"), ("type", "a")], b"x");
        assert_eq!(one, digest(&[("type", "a"), ("id", "1"), ("traceparent", "00")], b"x"));
        for other in [
            digest(&[("id", "1"), ("type", "a")], b"y"),
            digest(&[("id", "1a"), ("type", "")], b"x"),
            digest(&[("id", "1")], b"x"),
        ] {
            assert_ne!(one, other);
        }
    }
}
