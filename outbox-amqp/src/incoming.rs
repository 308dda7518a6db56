//! CloudEvents in binary mode on AMQP, on the way in.

use chrono::{DateTime, SecondsFormat};
use lapin::BasicProperties;
use lapin::message::Delivery as Raw;
use lapin::types::{AMQPValue, FieldTable};
use outbox_ingest::Delivery;

use crate::acknowledge::Acknowledgement;

/// In front of attributes: the second for brokers and clients that do not like colons, as the
/// [binding](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/amqp-protocol-binding.md) allows.
const PREFIXES: [&str; 2] = ["cloudEvents:", "cloudEvents_"];

/// A message as an ingest takes it. Nothing is decoded here: a value that cannot be read is told to be one, and the message goes its way.
pub(crate) fn incoming(raw: Raw) -> Delivery {
    let acknowledgement = Acknowledgement::new(raw.acker);
    let delivery = Delivery::new(raw.data, acknowledgement).route(raw.routing_key.as_str());
    with_properties(delivery.redelivered(raw.redelivered), &raw.properties)
}

fn with_properties(mut delivery: Delivery, properties: &BasicProperties) -> Delivery {
    if let Some(id) = properties.message_id() {
        delivery = delivery.message_id(id.as_str());
    }
    if let Some(content_type) = properties.content_type() {
        delivery = delivery.content_type(content_type.as_str());
    }
    for (name, value) in properties.headers().iter().flat_map(FieldTable::inner) {
        let name = name.as_str();
        let attribute = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
        delivery = match (attribute, text(value)) {
            (Some(attribute), Some(bytes)) => delivery.attribute(attribute, bytes),
            (Some(attribute), None) => delivery.undecodable_attribute(attribute),
            (None, Some(bytes)) => delivery.header(name, bytes),
            // Of the broker or of others, as `x-death`: nothing that is asked for.
            (None, None) => delivery,
        };
    }
    delivery
}

/// A value in the form that CloudEvents gives it as text, by [its types](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md#type-system).
/// Strings are bytes on AMQP, and may be no UTF-8.
fn text(value: &AMQPValue) -> Option<Vec<u8>> {
    let text = match value {
        AMQPValue::LongString(text) => return Some(text.as_bytes().to_vec()),
        AMQPValue::ShortString(text) => text.to_string(),
        AMQPValue::Boolean(value) => value.to_string(),
        AMQPValue::ShortShortInt(value) => value.to_string(),
        AMQPValue::ShortShortUInt(value) => value.to_string(),
        AMQPValue::ShortInt(value) => value.to_string(),
        AMQPValue::ShortUInt(value) => value.to_string(),
        AMQPValue::LongInt(value) => value.to_string(),
        AMQPValue::LongUInt(value) => value.to_string(),
        AMQPValue::LongLongInt(value) => value.to_string(),
        AMQPValue::Timestamp(seconds) => {
            DateTime::from_timestamp(i64::try_from(*seconds).ok()?, 0)?.to_rfc3339_opts(SecondsFormat::Secs, true)
        }
        _ => return None,
    };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes of other producers come as numbers, truth values and moments; what has no form as text is no value.
    #[test]
    fn values_have_the_form_that_they_have_as_text() {
        let of = |value| text(&value).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(of(AMQPValue::LongString("a".into())).as_deref(), Some("a"));
        assert_eq!(of(AMQPValue::Boolean(true)).as_deref(), Some("true"));
        assert_eq!(of(AMQPValue::LongLongInt(-7)).as_deref(), Some("-7"));
        assert_eq!(of(AMQPValue::Timestamp(0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(of(AMQPValue::FieldTable(FieldTable::default())), None);
        assert_eq!(of(AMQPValue::Timestamp(u64::MAX)), None);
        assert_eq!(text(&AMQPValue::LongString(b"\xff"[..].into())), Some(vec![0xff]));
    }
}
