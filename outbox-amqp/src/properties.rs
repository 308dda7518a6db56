//! CloudEvents in binary mode on AMQP.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use outbox_relay::Outgoing;

/// Survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// As the [binding](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/amqp-protocol-binding.md) says: `datacontenttype` is
/// `content-type`, every other attribute a header with `cloudEvents:` in front. The event's id is `message-id` too.
pub(crate) fn properties(message: &Outgoing) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in message.attributes() {
        headers.insert(format!("cloudEvents:{name}").into(), text(value));
    }
    for (name, value) in message.trace_context() {
        headers.insert(name.into(), text(value));
    }
    BasicProperties::default()
        .with_message_id(message.id_text().into())
        .with_content_type(message.content_type().into())
        .with_delivery_mode(PERSISTENT)
        .with_headers(headers)
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}
